// SPDX-License-Identifier: BSD-3-Clause
// M2P of the orders above moments::cartesian_order (moments/harmonics.hpp), compiled once per SIMD target.
#include "forces/m2p/m2p_harmonic.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "forces/m2p/m2p_harmonic.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "forces/vector_ops.hpp"
#include "moments/harmonics.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::forces::HWY_NAMESPACE {
namespace {

namespace harmonic = moments::HWY_NAMESPACE;

/// The targets in the lanes of one vector against one cell: groups have few cells of these orders, and many targets.
template <typename T>
struct HarmonicPair {
    using Ops = VectorOps<T>;
    using Real = typename Ops::Real;
    using Terms = harmonic::Harmonics<Ops>;
    static constexpr Ops ops{};

    int order;
    Real w[moments::harmonic_count(moments::max_order)];
    Real table[moments::max_table];

    HWY_INLINE void add(const T* cell, const Real (&place)[3], Real (&sum)[4]) {
        const auto row = [&](int k) HWY_ATTR { return hn::Set(typename Ops::D(), cell[k * source_pad]); };
        Real u[3] = {ops.sub(place[0], row(row_x)), ops.sub(place[1], row(row_y)), ops.sub(place[2], row(row_z))};
        const Real inverse = ops.inverse_root(ops.fma(u[0], u[0], ops.fma(u[1], u[1], ops.mul(u[2], u[2]))));
        for (Real& x : u)
            x = ops.mul(x, inverse);
        const Real shrink = ops.mul(row(row_rho), inverse);
        Real field[4] = {ops.set(0), ops.set(0), ops.set(0), ops.set(0)};
        Terms::scale(order, shrink, [&](int i) HWY_ATTR { return row(row_charge + i); }, w);
        Terms::irregular(order + 1, u, table);
        Terms::field(
            order, order + 1, [&](int i) HWY_ATTR { return w[i]; }, [&](int i) HWY_ATTR { return table[i]; }, field);
        const Real square = ops.mul(inverse, inverse);
        for (int a = 0; a < 3; ++a)
            sum[a] = ops.fma(field[a], square, sum[a]);
        sum[3] = ops.fma(field[3], inverse, sum[3]);
    }
};

template <typename T>
const T* rows_of(const CellVariant& v, const Cells<T>& cells, int64_t j) {
    return cells.rows + j / source_pad * row_count(v.order, false) * source_pad + j % source_pad;
}

template <typename T>
void m2p_any(const CellVariant& v, const Cells<T>& cells, const Targets<T>& targets, int64_t chunk, const FieldSums& out) {
    using Ops = VectorOps<T>;
    using Real = typename Ops::Real;
    const Ops ops;
    const typename Ops::D d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const T* const from[3] = {targets.x, targets.y, targets.z};
    double* const to[4] = {out.ax, out.ay, out.az, out.potential};
    HarmonicPair<T> pair;
    pair.order = v.order;
    for (int64_t k = 0; k < targets.count; k += lanes) {
        const int64_t n = std::min(lanes, targets.count - k);
        alignas(64) T some[16];
        Real place[3];
        for (int a = 0; a < 3; ++a) {
            for (int64_t i = 0; i < lanes; ++i)
                some[i] = from[a][k + std::min(i, n - 1)];
            place[a] = hn::Load(d, some);
        }
        for (int64_t begin = 0; begin < cells.count; begin += chunk) {
            Real sum[4] = {ops.set(0), ops.set(0), ops.set(0), ops.set(0)};
            for (int64_t j = begin; j < std::min(cells.count, begin + chunk); ++j)
                pair.add(rows_of(v, cells, j), place, sum);
            for (int a = 0; a < (v.potential ? 4 : 3); ++a) {
                hn::Store(sum[a], d, some);
                for (int64_t i = 0; i < n; ++i)
                    to[a][k + i] += static_cast<double>(some[i]);
            }
        }
    }
}

void m2p_harmonic_float(const CellVariant& v, const Cells<float>& cells, const Targets<float>& targets, int64_t chunk,
                        const FieldSums& out) {
    m2p_any(v, cells, targets, chunk, out);
}
void m2p_harmonic_double(const CellVariant& v, const Cells<double>& cells, const Targets<double>& targets, int64_t chunk,
                         const FieldSums& out) {
    m2p_any(v, cells, targets, chunk, out);
}

} // namespace
} // namespace graft::forces::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::forces {

HWY_EXPORT(m2p_harmonic_float);
HWY_EXPORT(m2p_harmonic_double);

template <>
void m2p_harmonic<float>(const CellVariant& v, const Cells<float>& cells, const Targets<float>& targets, int64_t chunk,
                         const FieldSums& sums) {
    HWY_DYNAMIC_DISPATCH(m2p_harmonic_float)(v, cells, targets, chunk, sums);
}
template <>
void m2p_harmonic<double>(const CellVariant& v, const Cells<double>& cells, const Targets<double>& targets, int64_t chunk,
                          const FieldSums& sums) {
    HWY_DYNAMIC_DISPATCH(m2p_harmonic_double)(v, cells, targets, chunk, sums);
}

} // namespace graft::forces
#endif
