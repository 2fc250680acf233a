// SPDX-License-Identifier: BSD-3-Clause
// L2P, compiled once per SIMD target. m2l.hpp says what it does, m2l_terms.hpp the mathematics. Loops over terms are folds:
// every index is known to the compiler.
#include "forces/m2l/m2l.hpp"

#include "forces/m2l/m2l_harmonic.hpp"

#include <algorithm>
#include <array>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "forces/m2l/l2p.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "forces/vector_ops.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::forces::HWY_NAMESPACE {

#define GRAFT_LOCAL_BODY HWY_INLINE
#include "forces/m2l/m2l.inc"
#undef GRAFT_LOCAL_BODY

/// L2P of an expansion of this degree, targets in lanes, in double.
template <int degree>
struct PointKernel {
    using Ops = VectorOps<double>;
    using Real = typename Ops::Real;
    using Body = PointBody<Ops, degree>;

    template <typename T>
    static HWY_NOINLINE void run(bool with_potential, const LocalExpansion& local, const Targets<T>& targets,
                                 const FieldSums& out) {
        const typename Ops::D d;
        const auto lanes = static_cast<int64_t>(hn::Lanes(d));
        const T* const from[3] = {targets.x, targets.y, targets.z};
        double* const to[4] = {out.ax, out.ay, out.az, out.potential};
        for (int64_t k = 0; k < targets.count; k += lanes) {
            const int64_t n = std::min(lanes, targets.count - k);
            alignas(64) double place[3][8] = {}, value[8];
            Real h[3], sum[4];
            for (int a = 0; a < 3; ++a) {
                for (int64_t i = 0; i < n; ++i)
                    place[a][i] = static_cast<double>(from[a][k + i]) - local.centre[a];
                h[a] = hn::Load(d, place[a]);
            }
            for (Real& s : sum)
                s = hn::Zero(d);
            with_potential ? Body::template add<true>(local.value.data(), h, sum)
                           : Body::template add<false>(local.value.data(), h, sum);
            for (int a = 0; a < (with_potential ? 4 : 3); ++a) {
                hn::Store(sum[a], d, value);
                for (int64_t i = 0; i < n; ++i)
                    to[a][k + i] += value[i];
            }
        }
    }
};

template <typename T>
void l2p_any(const CellVariant& v, const LocalExpansion& local, const Targets<T>& targets,
             const FieldSums& out) {
    switch (v.order) {
    case 0:
        return PointKernel<local_order(0)>::run(v.potential, local, targets, out);
    case 1:
        return PointKernel<local_order(1)>::run(v.potential, local, targets, out);
    case 2:
        return PointKernel<local_order(2)>::run(v.potential, local, targets, out);
    case 3:
        return PointKernel<local_order(3)>::run(v.potential, local, targets, out);
    default:
        return PointKernel<local_order(4)>::run(v.potential, local, targets, out);
    }
}

void l2p_float(const CellVariant& v, const LocalExpansion& local, const Targets<float>& targets,
               const FieldSums& out) {
    l2p_any(v, local, targets, out);
}
void l2p_double(const CellVariant& v, const LocalExpansion& local, const Targets<double>& targets,
                const FieldSums& out) {
    l2p_any(v, local, targets, out);
}

} // namespace graft::forces::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::forces {

namespace {

HWY_EXPORT(l2p_float);
HWY_EXPORT(l2p_double);

} // namespace

template <>
void l2p<float>(const CellVariant& v, const LocalExpansion& local, const Targets<float>& targets,
                const FieldSums& sums) {
    if (moments::is_harmonic(v.order))
        return l2p_harmonic(v, local, targets, sums);
    HWY_DYNAMIC_DISPATCH(l2p_float)(v, local, targets, sums);
}
template <>
void l2p<double>(const CellVariant& v, const LocalExpansion& local, const Targets<double>& targets,
                 const FieldSums& sums) {
    if (moments::is_harmonic(v.order))
        return l2p_harmonic(v, local, targets, sums);
    HWY_DYNAMIC_DISPATCH(l2p_double)(v, local, targets, sums);
}

} // namespace graft::forces
#endif
