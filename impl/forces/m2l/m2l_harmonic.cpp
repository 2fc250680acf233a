// SPDX-License-Identifier: BSD-3-Clause
// See m2l_harmonic.hpp; compiled once per SIMD target. M2L has cells in the lanes of vectors, L2P targets.
#include "forces/m2l/m2l_harmonic.hpp"

#include "core/plain_ops.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "forces/m2l/m2l_harmonic.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "forces/m2l/target_lanes.hpp"
#include "moments/harmonics.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::forces::HWY_NAMESPACE {
namespace {

using moments::harmonic_count;
namespace harmonic = moments::HWY_NAMESPACE;

constexpr int max_count = harmonic_count(max_local_order);

/// M2L of the cells in the lanes of one vector.
template <typename T>
struct HarmonicCells {
    using Ops = VectorOps<T>;
    using Real = typename Ops::Real;
    using Terms = harmonic::Harmonics<Ops>;
    static constexpr Ops ops{};

    int order, degree;
    const moments::Products* products;
    Real power[max_local_order + 1]; // s^-(1 + k)
    Real w[harmonic_count(moments::max_order)];
    Real table[moments::max_table];

    HWY_INLINE void read(const M2lSources<T>& cells, int64_t j, const Real (&centre)[3]) {
        const typename Ops::D d;
        const auto row = [&](int k) HWY_ATTR { return hn::Load(d, cells.row(k) + j); };
        Real u[3] = {ops.sub(centre[0], row(0)), ops.sub(centre[1], row(1)), ops.sub(centre[2], row(2))};
        power[0] = ops.inverse_root(ops.fma(u[0], u[0], ops.fma(u[1], u[1], ops.mul(u[2], u[2]))));
        for (Real& x : u)
            x = ops.mul(x, power[0]);
        for (int k = 1; k <= degree; ++k)
            power[k] = ops.mul(power[k - 1], power[0]);
        const Real shrink = ops.mul(row(3), power[0]);
        Terms::scale(order, shrink, [&](int i) HWY_ATTR { return row(4 + i); }, w);
        Terms::irregular(degree, u, table);
    }

    HWY_INLINE void add(Real* sum) const { Terms::correlate(*products, degree, w, table, power, sum); }
};

template <typename T>
void m2l_any(int order, const M2lSources<T>& cells, LocalExpansion& local) {
    using Ops = VectorOps<T>;
    using Real = typename Ops::Real;
    const Ops ops;
    const typename Ops::D d;
    const int count = harmonic_count(local_order(order));
    const Real centre[3] = {ops.set(local.centre[0]), ops.set(local.centre[1]), ops.set(local.centre[2])};
    Real sum[max_count];
    std::fill_n(sum, count, hn::Zero(d));
    HarmonicCells<T> some;
    some.order = order;
    some.degree = local_order(order);
    some.products = &moments::products_of_m2l(order);
    for (int64_t j = 0; j < cells.count(); j += static_cast<int64_t>(hn::Lanes(d))) {
        some.read(cells, j, centre);
        some.add(sum);
    }
    for (int k = 0; k < count; ++k)
        local.value[static_cast<size_t>(k)] += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum[k])));
}

template <typename T>
void l2p_any(const CellVariant& v, const LocalExpansion& local, const Targets<T>& targets, const FieldSums& out) {
    using Ops = VectorOps<double>;
    using Real = Ops::Real;
    using Terms = harmonic::Harmonics<Ops>;
    const Ops ops;
    const int degree = local_order(v.order);
    double table[moments::max_table];
    std::copy_n(local.value.data(), harmonic_count(degree), table);
    harmonic::Harmonics<core::PlainOps>::complete(degree, table);
    const auto body = [&](const Real(&h)[3], Real(&sum)[4]) HWY_ATTR {
        Real w[max_count];
        Terms::regular(degree, h, w);
        Terms::field(
            degree, degree, [&](int i) HWY_ATTR { return w[i]; }, [&](int i) HWY_ATTR { return ops.set(table[i]); }, sum);
    };
    add_at_targets(v.potential, local, targets, out, body);
}

void m2l_harmonic_float(int order, const M2lSources<float>& cells, LocalExpansion& local) {
    m2l_any(order, cells, local);
}
void m2l_harmonic_double(int order, const M2lSources<double>& cells, LocalExpansion& local) {
    m2l_any(order, cells, local);
}
void l2p_harmonic_float(const CellVariant& v, const LocalExpansion& local, const Targets<float>& targets,
                        const FieldSums& out) {
    l2p_any(v, local, targets, out);
}
void l2p_harmonic_double(const CellVariant& v, const LocalExpansion& local, const Targets<double>& targets,
                         const FieldSums& out) {
    l2p_any(v, local, targets, out);
}

} // namespace
} // namespace graft::forces::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::forces {

HWY_EXPORT(m2l_harmonic_float);
HWY_EXPORT(m2l_harmonic_double);
HWY_EXPORT(l2p_harmonic_float);
HWY_EXPORT(l2p_harmonic_double);

template <>
void m2l_harmonic<float>(int order, const M2lSources<float>& cells, LocalExpansion& local) {
    HWY_DYNAMIC_DISPATCH(m2l_harmonic_float)(order, cells, local);
}
template <>
void m2l_harmonic<double>(int order, const M2lSources<double>& cells, LocalExpansion& local) {
    HWY_DYNAMIC_DISPATCH(m2l_harmonic_double)(order, cells, local);
}
template <>
void l2p_harmonic<float>(const CellVariant& v, const LocalExpansion& local, const Targets<float>& targets,
                         const FieldSums& sums) {
    HWY_DYNAMIC_DISPATCH(l2p_harmonic_float)(v, local, targets, sums);
}
template <>
void l2p_harmonic<double>(const CellVariant& v, const LocalExpansion& local, const Targets<double>& targets,
                          const FieldSums& sums) {
    HWY_DYNAMIC_DISPATCH(l2p_harmonic_double)(v, local, targets, sums);
}

} // namespace graft::forces
#endif
