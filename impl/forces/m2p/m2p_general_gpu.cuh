// SPDX-License-Identifier: BSD-3-Clause
// The cell kernel of units for every order, softening and precision, two targets a lane: m2p.cpp in CUDA
// threads; moments/expansion.hpp has the mathematics and the records.
#pragma once

#include "forces/m2p/m2p_gpu.cuh"
#include "forces/p2p/pair_gpu.cuh"
#include "forces/source_tiles_gpu.cuh"
#include "moments/expansion.hpp"

namespace graft::forces::general_cells {

inline constexpr int most_targets = 2; // a lane

/// A cell in shared memory: its place and lengths, then its record.
template <typename Real, int order, bool softened>
struct alignas(4 * sizeof(Real)) Cell {
    Real x, y, z, rho, inverse_rho, softening;
    Real record[moments::record_size(order, softened)];
    Real pad[4]; // cells start at different banks
};

template <typename Real>
struct Vector {
    Real x, y, z;
};
template <typename Real>
__device__ __forceinline__ Real dot(const Vector<Real>& a, const Vector<Real>& b) {
    return fused(a.z, b.z, fused(a.y, b.y, a.x * b.x));
}

/// Five numbers of a symmetric traceless matrix (xx xy xz yy yz) times u.
template <typename Real>
__device__ __forceinline__ Vector<Real> product(const Real* m, const Vector<Real>& u) {
    return {fused(m[2], u.z, fused(m[1], u.y, m[0] * u.x)), fused(m[4], u.z, fused(m[3], u.y, m[1] * u.x)),
            fused(-(m[0] + m[3]), u.z, fused(m[4], u.y, m[2] * u.x))};
}

/// P and W = P + 2 u G of m2p.cpp, and the gradient G.
template <typename Real>
struct Value {
    Real p, w;
    Vector<Real> g;
};

/// Adds order l, whose gradient is g_l: l P_l = u g_l.
template <int l, bool potential, typename Real>
__device__ __forceinline__ void add_order(const Vector<Real>& g_l, const Vector<Real>& u, Value<Real>& v) {
    const Real value = dot(u, g_l);
    v.w = fused(value, Real(2 + 1.0 / l), v.w);
    if constexpr (potential)
        v.p = fused(value, Real(1.0 / l), v.p);
    v.g = {v.g.x + g_l.x, v.g.y + g_l.y, v.g.z + g_l.z};
}

/// Functions of u of degree 2 and 3 that traceless polynomials are made of (m2p.cpp).
template <typename Real>
struct Basis {
    Real a, b, xy, xz, yz, twice_zz; // a = x^2 - z^2, b = y^2 - z^2
    __device__ explicit Basis(const Vector<Real>& u)
        : a(fused(u.x, u.x, -u.z * u.z)), b(fused(u.y, u.y, -u.z * u.z)), xy(u.x * u.y), xz(u.x * u.z),
          yz(u.y * u.z), twice_zz(2 * u.z * u.z) {}
};

/// Gradient of order 3 from xxx xxy xxz xyy xyz yyy yyz.
template <typename Real>
__device__ __forceinline__ Vector<Real> octupole(const Real* r, const Basis<Real>& q) {
    const auto row = [&](Real xx, Real yy, Real xy, Real xz, Real yz) {
        return fused(xx, q.a, fused(yy, q.b, 2 * fused(xy, q.xy, fused(xz, q.xz, yz * q.yz))));
    };
    return {row(r[0], r[3], r[1], r[2], r[4]), row(r[1], r[5], r[3], r[4], r[6]),
            row(r[2], r[6], r[4], -(r[0] + r[3]), -(r[1] + r[5]))};
}

/// Gradient of order 4 from xxxx xxxy xxxz xxyy xxyz xyyy xyyz yyyy yyyz.
template <typename Real>
__device__ __forceinline__ Vector<Real> hexadecapole(const Real* r, const Vector<Real>& u,
                                                     const Basis<Real>& q) {
    const Real xxx = u.x * (q.a - q.twice_zz), xyy = 3 * u.x * q.b, yyy = u.y * (q.b - q.twice_zz),
               xxy = 3 * u.y * q.a, xxz = u.z * fused(Real(3), q.a, q.twice_zz),
               yyz = u.z * fused(Real(3), q.b, q.twice_zz), xyz = 6 * u.z * q.xy;
    const auto row = [&](Real c_xxx, Real c_xyy, Real c_yyy, Real c_xxy, Real c_xxz, Real c_yyz, Real c_xyz) {
        const Real even = fused(c_xxz, xxz, fused(c_yyy, yyy, c_xxx * xxx));
        const Real odd = fused(c_yyz, yyz, fused(c_xxy, xxy, c_xyy * xyy));
        return fused(c_xyz, xyz, even) + odd;
    };
    return {row(r[0], r[3], r[5], r[1], r[2], r[6], r[4]), row(r[1], r[5], r[7], r[3], r[4], r[8], r[6]),
            row(r[2], r[6], r[8], r[4], -(r[0] + r[3]), -(r[3] + r[7]), -(r[1] + r[5]))};
}

template <int order, bool potential, typename Real>
__device__ __forceinline__ Value<Real> polynomial(const Real* record, const Vector<Real>& u) {
    Value<Real> v{record[0], record[0], {0, 0, 0}};
    if constexpr (order >= 1) {
        v.g = {record[1], record[2], record[3]};
        const Real value = dot(u, v.g);
        v.w = fused(value, Real(3), v.w);
        v.p += value;
    }
    if constexpr (order >= 2)
        add_order<2, potential>(product(record + 4, u), u, v);
    if constexpr (order >= 3) {
        const Basis<Real> basis(u);
        add_order<3, potential>(octupole(record + 9, basis), u, v);
        if constexpr (order >= 4)
            add_order<4, potential>(hexadecapole(record + 16, u, basis), u, v);
    }
    return v;
}

/// E R, its gradient and its share of W: each power of E counts 4 more in W.
template <int order, typename Real>
__device__ __forceinline__ void add_traces(const Real* record, const Vector<Real>& u, Real e, Real t,
                                           Value<Real>& v) {
    const Real* c = record + moments::traceless_terms(order);
    Real r = c[0], w = 5 * c[0]; // R, and 5 R + 2 u grad R
    if constexpr (order >= 3) {
        Vector<Real> h{c[1], c[2], c[3]};
        const Real linear = dot(u, h);
        r += linear;
        w = fused(linear, Real(7), w);
        if constexpr (order >= 4) {
            const Vector<Real> twice = product(c + 4, u);
            const Real square = dot(u, twice); // twice c2 u^2
            h = {h.x + twice.x, h.y + twice.y, h.z + twice.z};
            r = fused(square, Real(0.5), r);
            w = fused(square, Real(4.5), w);
            r = fused(c[9], fused(e, Real(0.875), t * Real(-0.5)), r);
            w = fused(c[9], fused(e, Real(7.875), t * Real(-3.5)), w);
        }
        v.g = {fused(e, h.x, v.g.x), fused(e, h.y, v.g.y), fused(e, h.z, v.g.z)};
    }
    v.p = fused(e, r, v.p);
    v.w = fused(e, w, v.w);
}

template <typename Real>
__device__ __forceinline__ Real full_root(Real r2) {
    Real cube, inverse;
    inverse_powers(r2, Real(1), cube, inverse);
    return inverse;
}

/// Adds one cell's field at x = target - centre; `soft` is eps^2, or 0.
template <int order, bool softened, bool potential, typename Real>
__device__ __forceinline__ void add_cell(const Cell<Real, order, softened>& cell, const Vector<Real>& x,
                                         Real soft, DevicePairSum<Real>& sum) {
    const Real inverse = full_root(dot(x, x) + (softened ? soft : Real(0)) + pair_tiny<Real>());
    const Real scale = cell.rho * (inverse * inverse);
    const Vector<Real> u{x.x * scale, x.y * scale, x.z * scale};
    Value<Real> v = polynomial<order, potential>(cell.record, u);
    if constexpr (softened && order >= 2)
        add_traces<order>(cell.record, u, soft * (scale * scale), cell.rho * scale, v);
    const Real along = v.w * (inverse * cell.inverse_rho), across = scale * inverse;
    sum.x += fused(v.g.x, across, -along * u.x);
    sum.y += fused(v.g.y, across, -along * u.y);
    sum.z += fused(v.g.z, across, -along * u.z);
    if constexpr (potential)
        sum.potential = fused(v.p, inverse, sum.potential);
}

template <typename Real, int order, bool softened>
__device__ __forceinline__ void fill_tile(const EvaluationView& v, const GroupFrame& frame, int32_t node,
                                          bool zero, bool per_particle, Cell<Real, order, softened>& cell) {
    constexpr double least = sizeof(Real) == 4 ? 1e-12 : 1e-30; // as CellBuffer::fill_places
    constexpr int size = moments::record_size(order, softened);
    const double rho = v.radius[node] > 0 ? fmax(v.rho[node] * frame.scale, least) : least;
    const Real* record;
    if constexpr (sizeof(Real) == 4)
        record = v.single + int64_t{node} * size;
    else
        record = v.full + int64_t{node} * size;
    __syncwarp();
    cell.x = static_cast<Real>(fma(v.cx[node], frame.scale, -frame.centre[0]));
    cell.y = static_cast<Real>(fma(v.cy[node], frame.scale, -frame.centre[1]));
    cell.z = static_cast<Real>(fma(v.cz[node], frame.scale, -frame.centre[2]));
    cell.rho = static_cast<Real>(rho);
    cell.inverse_rho = static_cast<Real>(1 / rho);
    cell.softening = per_particle
                         ? static_cast<Real>(0.5 * v.softening_square[node] * frame.scale * frame.scale)
                         : Real(0);
    const Real factor = zero ? Real(0) : static_cast<Real>(v.charge_scale);
#pragma unroll
    for (int i = 0; i < size; ++i)
        cell.record[i] = record[i] * factor;
    __syncwarp();
}

template <int T, typename Real, int order, bool softened, bool potential>
__device__ __forceinline__ void run(const EvaluationView& v, const UnitView& units, const Unit& unit,
                                    const GroupFrame& frame, bool per_particle, int first, int count,
                                    int part, Cell<Real, order, softened>* tile) {
    const int lane = threadIdx.x % 32, place = lane % part;
    Vector<Real> x[T];
    Real soft[T];
    DevicePairSum<Real> sum[T];
    const double length = v.length * frame.scale;
#pragma unroll
    for (int t = 0; t < T; ++t) {
        const int64_t k = int64_t{frame.first} + first + min(place + t * part, count - 1);
        x[t] = {static_cast<Real>(fma(v.target_x[k], frame.scale, -frame.centre[0])),
                static_cast<Real>(fma(v.target_y[k], frame.scale, -frame.centre[1])),
                static_cast<Real>(fma(v.target_z[k], frame.scale, -frame.centre[2]))};
        const double own = per_particle ? v.target_softening[k] * frame.scale : length;
        soft[t] = static_cast<Real>(per_particle ? 0.5 * own * own : own * own);
        sum[t] = {0, 0, 0, 0};
    }
    const int own = lane / part * part;
    const int32_t* list = v.node_list + v.node_offset[unit.group];
    for (int32_t begin = unit.begin; begin < unit.end; begin += 32) {
        const int32_t e = begin + lane;
        fill_tile(v, frame, list[min(e, unit.end - 1)], e >= unit.end, per_particle, tile[lane]);
#pragma unroll 1
        for (int j = own; j < own + part; ++j)
#pragma unroll
            for (int t = 0; t < T; ++t) {
                const Cell<Real, order, softened>& cell = tile[j];
                add_cell<order, softened, potential>(
                    cell, Vector<Real>{x[t].x - cell.x, x[t].y - cell.y, x[t].z - cell.z},
                    soft[t] + (softened ? cell.softening : Real(0)), sum[t]);
            }
    }
    auto* slots = static_cast<Slot<Real>*>(units.slots) + unit.slot + first;
#pragma unroll
    for (int t = 0; t < T; ++t) {
        const Slot<Real> total{add_parts(sum[t].x, part), add_parts(sum[t].y, part),
                               add_parts(sum[t].z, part),
                               potential ? add_parts(sum[t].potential, part) : Real(0)};
        const int k = place + t * part;
        if (lane < part && k < count)
            slots[k] = total;
    }
}

template <typename Real, int order, bool softened, bool potential>
__global__ __launch_bounds__(32) void kernel(EvaluationView v, UnitView units, const ChargeSigns* skip,
                                             bool per_particle) {
    __shared__ Cell<Real, order, softened> tile[32];
    if (backend::stopped(v.status) || (skip != nullptr && skip->one_sign != 0))
        return;
    const auto total = units.counters->cells();
    for (unsigned u = take_unit(&units.counters->next_cell); u < total;
         u = take_unit(&units.counters->next_cell)) {
        const Unit unit = units.cells[u];
        const GroupFrame frame = units.frames[unit.group];
        for (int first = 0; first < frame.count; first += 32 * most_targets) {
            const int count = min(32 * most_targets, frame.count - first);
            run<most_targets, Real, order, softened, potential>(v, units, unit, frame, per_particle, first,
                                                                count, part_lanes(count, most_targets), tile);
        }
    }
}

template <typename Real, int order, bool softened, bool potential>
void launch(backend::Queue& queue, const EvaluationView& view, const UnitView& units, const ChargeSigns* skip,
            bool per_particle) {
    static const unsigned blocks = resident_blocks(queue, kernel<Real, order, softened, potential>, 32);
    kernel<Real, order, softened, potential>
        <<<blocks, 32, 0, queue.stream()>>>(view, units, skip, per_particle);
    GRAFT_CUDA_LAUNCHED("cells of units");
    ++queue.launches;
}

template <typename Real, int order>
void launch(backend::Queue& queue, const EvaluationView& view, const UnitView& units, const ChargeSigns* skip,
            bool softened, bool per_particle, bool potential) {
    if (softened)
        potential ? launch<Real, order, true, true>(queue, view, units, skip, per_particle)
                  : launch<Real, order, true, false>(queue, view, units, skip, per_particle);
    else
        potential ? launch<Real, order, false, true>(queue, view, units, skip, false)
                  : launch<Real, order, false, false>(queue, view, units, skip, false);
}

template <typename Real>
void launch_high(backend::Queue& queue, const EvaluationView& view, const UnitView& units,
                 const ChargeSigns* skip, int order, bool softened, bool per_particle, bool potential);

template <typename Real>
void launch_any(backend::Queue& queue, const EvaluationView& view, const UnitView& units,
                const ChargeSigns* skip, int order, bool softened, bool per_particle, bool potential) {
    if (order == 0)
        launch<Real, 0>(queue, view, units, skip, softened, per_particle, potential);
    else if (order == 1)
        launch<Real, 1>(queue, view, units, skip, softened, per_particle, potential);
    else if (order == 2)
        launch<Real, 2>(queue, view, units, skip, softened, per_particle, potential);
    else
        launch_high<Real>(queue, view, units, skip, order, softened, per_particle, potential);
}

} // namespace graft::forces::general_cells
