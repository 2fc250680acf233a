// SPDX-License-Identifier: BSD-3-Clause
// The cell kernel of tasks for every order, softening and precision, two targets a lane; m2p_terms.hpp has the
// terms.
#pragma once

#include "forces/m2p/m2p_gpu.cuh"
#include "forces/m2p/m2p_terms.hpp"
#include "forces/p2p/pair_gpu.cuh"
#include "forces/source_tiles_gpu.cuh"
#include "moments/expansion.hpp"

namespace graft::forces::general_cells {

inline constexpr int most_targets = 2; // a lane

/// A cell in shared memory: its place and lengths, then its record (moments/expansion.hpp).
template <typename Real, int order, bool softened>
struct alignas(4 * sizeof(Real)) Cell {
    using Vector = CellVector<Real>;
    Real x, y, z, rho, inverse_rho, softening;
    Real record[moments::record_size(order, softened)];
    Real pad[4]; // cells start at different banks

    GRAFT_BODY Real charge() const { return record[0]; }
    GRAFT_BODY Vector dipole() const { return {record[1], record[2], record[3]}; }
    GRAFT_BODY SymmetricMatrix<Real> quadrupole() const { return traceless(record + 4); }
    /// Gradient of order 3 from xxx xxy xxz xyy xyz yyy yyz.
    GRAFT_BODY Vector octupole(const Quadratics<Real>& q) const {
        const Real* r = record + 9;
        const auto row = [&](Real xx, Real yy, Real xy, Real xz, Real yz) {
            return fused(xx, q.a, fused(yy, q.b, 2 * fused(xy, q.xy, fused(xz, q.xz, yz * q.yz))));
        };
        return {row(r[0], r[3], r[1], r[2], r[4]), row(r[1], r[5], r[3], r[4], r[6]),
                row(r[2], r[6], r[4], -(r[0] + r[3]), -(r[1] + r[5]))};
    }
    /// Gradient of order 4 from xxxx xxxy xxxz xxyy xxyz xyyy xyyz yyyy yyyz.
    GRAFT_BODY Vector hexadecapole(const Vector& u, const Quadratics<Real>& q) const {
        const Real* r = record + 16;
        const Real xxx = u.x * (q.a - q.twice_zz), xyy = 3 * u.x * q.b, yyy = u.y * (q.b - q.twice_zz),
                   xxy = 3 * u.y * q.a, xxz = u.z * fused(Real(3), q.a, q.twice_zz),
                   yyz = u.z * fused(Real(3), q.b, q.twice_zz), xyz = 6 * u.z * q.xy;
        const auto row = [&](Real c_xxx, Real c_xyy, Real c_yyy, Real c_xxy, Real c_xxz, Real c_yyz,
                             Real c_xyz) {
            const Real even = fused(c_xxz, xxz, fused(c_yyy, yyy, c_xxx * xxx));
            const Real odd = fused(c_yyz, yyz, fused(c_xxy, xxy, c_xyy * xyy));
            return fused(c_xyz, xyz, even) + odd;
        };
        return {row(r[0], r[3], r[5], r[1], r[2], r[6], r[4]), row(r[1], r[5], r[7], r[3], r[4], r[8], r[6]),
                row(r[2], r[6], r[8], r[4], -(r[0] + r[3]), -(r[3] + r[7]), -(r[1] + r[5]))};
    }
    GRAFT_BODY Real trace() const { return traces()[0]; }
    GRAFT_BODY Vector trace_gradient() const { return {traces()[1], traces()[2], traces()[3]}; }
    GRAFT_BODY SymmetricMatrix<Real> trace_matrix() const { return traceless(traces() + 4); }
    GRAFT_BODY Real twice_trace() const { return traces()[9]; }

  private:
    GRAFT_BODY const Real* traces() const { return record + moments::traceless_terms(order); }
    /// From xx xy xz yy yz.
    static GRAFT_BODY SymmetricMatrix<Real> traceless(const Real* m) {
        return {m[0], m[1], m[2], m[3], m[4], -(m[0] + m[3])};
    }
};

/// Adds one cell's field at x = target - centre; `soft` is eps^2, or 0. One operation a sum waits for the cell
/// before; m2p_kernel.hpp, where other vectors fill the wait, has two and saves a product.
template <int order, bool softened, bool potential, typename Real>
__device__ __forceinline__ void add_cell(const Cell<Real, order, softened>& cell, const CellVector<Real>& x,
                                         Real soft, PairSum<Real>& sum) {
    using Ops = DeviceOps<Real>;
    using Terms = CellTerms<Ops, order, potential>;
    const Real inverse =
        Ops::inverse_root(Terms::dot(x, x) + (softened ? soft : Real(0)) + pair_tiny<Real>());
    const Real scale = cell.rho * (inverse * inverse);
    const CellVector<Real> u{x.x * scale, x.y * scale, x.z * scale};
    auto v = Terms::polynomial(cell, typename Terms::Open(), u);
    if constexpr (softened && order >= 2)
        Terms::add_traces(cell, u, soft * (scale * scale), cell.rho * scale, v);
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
    const double rho =
        v.expansions.radius[node] > 0 ? fmax(v.expansions.rho[node] * frame.scale, least) : least;
    const Real* record;
    if constexpr (sizeof(Real) == 4)
        record = v.expansions.single + int64_t{node} * size;
    else
        record = v.expansions.full + int64_t{node} * size;
    __syncwarp();
    cell.x = static_cast<Real>(fma(v.expansions.cx[node], frame.scale, -frame.centre[0]));
    cell.y = static_cast<Real>(fma(v.expansions.cy[node], frame.scale, -frame.centre[1]));
    cell.z = static_cast<Real>(fma(v.expansions.cz[node], frame.scale, -frame.centre[2]));
    cell.rho = static_cast<Real>(rho);
    cell.inverse_rho = static_cast<Real>(1 / rho);
    cell.softening =
        per_particle
            ? static_cast<Real>(0.5 * v.expansions.softening_square[node] * frame.scale * frame.scale)
            : Real(0);
    const Real factor = zero ? Real(0) : static_cast<Real>(v.charge_scale);
#pragma unroll
    for (int i = 0; i < size; ++i)
        cell.record[i] = record[i] * factor;
    __syncwarp();
}

template <int T, typename Real, int order, bool softened, bool potential>
__device__ __forceinline__ void run(const EvaluationView& v, const TaskView& tasks, const Task& task,
                                    const GroupFrame& frame, bool per_particle, int first, int count,
                                    int part, Cell<Real, order, softened>* tile) {
    const int lane = threadIdx.x % 32, place = lane % part;
    CellVector<Real> x[T];
    Real soft[T];
    PairSum<Real> sum[T];
    const double length = v.softening.length * frame.scale;
#pragma unroll
    for (int t = 0; t < T; ++t) {
        const int64_t k = int64_t{frame.first} + first + min(place + t * part, count - 1);
        x[t] = {static_cast<Real>(fma(v.targets.x[k], frame.scale, -frame.centre[0])),
                static_cast<Real>(fma(v.targets.y[k], frame.scale, -frame.centre[1])),
                static_cast<Real>(fma(v.targets.z[k], frame.scale, -frame.centre[2]))};
        const double own = per_particle ? v.targets.softening[k] * frame.scale : length;
        soft[t] = static_cast<Real>(per_particle ? 0.5 * own * own : own * own);
        sum[t] = {0, 0, 0, 0};
    }
    const int own = lane / part * part;
    const int32_t* list = v.lists.nodes + v.lists.node_offset[task.group];
    for (int32_t begin = task.begin; begin < task.end; begin += 32) {
        const int32_t e = begin + lane;
        fill_tile(v, frame, list[min(e, task.end - 1)], e >= task.end, per_particle, tile[lane]);
#pragma unroll 1
        for (int j = own; j < own + part; ++j)
#pragma unroll
            for (int t = 0; t < T; ++t) {
                const Cell<Real, order, softened>& cell = tile[j];
                add_cell<order, softened, potential>(
                    cell, CellVector<Real>{x[t].x - cell.x, x[t].y - cell.y, x[t].z - cell.z},
                    soft[t] + (softened ? cell.softening : Real(0)), sum[t]);
            }
    }
    auto* slots = static_cast<Slot<Real>*>(tasks.slots) + task.slot + first;
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
__global__ __launch_bounds__(32) void kernel(EvaluationView v, TaskView tasks, const ChargeSigns* skip,
                                             bool per_particle) {
    __shared__ Cell<Real, order, softened> tile[32];
    if (backend::stopped(v.status) || (skip != nullptr && skip->one_sign != 0))
        return;
    const auto total = tasks.counters->cells();
    for (unsigned u = take_task(&tasks.counters->next_cell); u < total;
         u = take_task(&tasks.counters->next_cell)) {
        const Task task = tasks.cells[u];
        const GroupFrame frame = tasks.frames[task.group];
        for (int first = 0; first < frame.count; first += 32 * most_targets) {
            const int count = min(32 * most_targets, frame.count - first);
            run<most_targets, Real, order, softened, potential>(v, tasks, task, frame, per_particle, first,
                                                                count, part_lanes(count, most_targets), tile);
        }
    }
}

template <typename Real, int order, bool softened, bool potential>
void launch(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks, const ChargeSigns* skip,
            bool per_particle) {
    static const unsigned blocks = resident_blocks(queue, kernel<Real, order, softened, potential>, 32);
    kernel<Real, order, softened, potential>
        <<<blocks, 32, 0, queue.stream()>>>(view, tasks, skip, per_particle);
    GRAFT_CUDA_LAUNCHED("cells of tasks");
    ++queue.launches;
}

template <typename Real, int order>
void launch(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks, const ChargeSigns* skip,
            bool softened, bool per_particle, bool potential) {
    if (softened)
        potential ? launch<Real, order, true, true>(queue, view, tasks, skip, per_particle)
                  : launch<Real, order, true, false>(queue, view, tasks, skip, per_particle);
    else
        potential ? launch<Real, order, false, true>(queue, view, tasks, skip, false)
                  : launch<Real, order, false, false>(queue, view, tasks, skip, false);
}

template <typename Real>
void launch_high(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks,
                 const ChargeSigns* skip, int order, bool softened, bool per_particle, bool potential);

template <typename Real>
void launch_any(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks,
                const ChargeSigns* skip, int order, bool softened, bool per_particle, bool potential) {
    if (order == 0)
        launch<Real, 0>(queue, view, tasks, skip, softened, per_particle, potential);
    else if (order == 1)
        launch<Real, 1>(queue, view, tasks, skip, softened, per_particle, potential);
    else if (order == 2)
        launch<Real, 2>(queue, view, tasks, skip, softened, per_particle, potential);
    else
        launch_high<Real>(queue, view, tasks, skip, order, softened, per_particle, potential);
}

} // namespace graft::forces::general_cells
