// SPDX-License-Identifier: BSD-3-Clause
// L2P, compiled once per SIMD target. m2l.hpp says what it does, m2l_terms.hpp the mathematics. Loops over terms are folds:
// every index is known to the compiler.
#include "forces/m2l/m2l.hpp"

#include "forces/m2l/m2l_harmonic.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "forces/m2l/l2p.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "forces/m2l/m2l_body.hpp"
#include "forces/m2l/target_lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::forces::HWY_NAMESPACE {

/// L2P of an expansion of this degree, targets in lanes, in double.
template <int degree>
struct PointKernel {
    using Ops = VectorOps<double>;
    using Real = Ops::Real;
    using Body = PointBody<Ops, degree>;

    template <typename T>
    static HWY_NOINLINE void run(bool with_potential, const LocalExpansion& local, const Targets<T>& targets,
                                 const FieldSums& out) {
        const auto body = [&](const Real(&h)[3], Real(&sum)[4]) HWY_ATTR {
            with_potential ? Body::template add<true>(local.value.data(), h, sum)
                           : Body::template add<false>(local.value.data(), h, sum);
        };
        add_at_targets(with_potential, local, targets, out, body);
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
