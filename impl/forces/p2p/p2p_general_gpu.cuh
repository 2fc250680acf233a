// SPDX-License-Identifier: BSD-3-Clause
// The pair kernel of tasks for every softening and precision (pair_gpu.cuh), up to four targets a lane.
#pragma once

#include "forces/p2p/pair_gpu.cuh"
#include "forces/source_tiles_gpu.cuh"

namespace graft::forces::general_pairs {

inline constexpr int most_targets = 4; // a lane

template <typename Real>
struct alignas(4 * sizeof(Real)) Source {
    Real x, y, z, q;
};

template <typename Real, bool per_particle>
struct Tile {
    Source<Real> source[tile_items];
    Real softening[per_particle ? tile_items : 1]; // softening_term() in frame units
    SourceQueue<double, per_particle> queue;
};

/// softening_term() for the kinds that have one of each particle.
template <DevicePair kind>
__device__ __forceinline__ double term_of(double length) {
    return kind == DevicePair::plummer ? 0.5 * length * length : length;
}

template <typename Real, DevicePair kind, bool per_particle>
__device__ __forceinline__ void fill_tile(const EvaluationView& v, const GroupFrame& frame, int32_t index,
                                          int place, Tile<Real, per_particle>& tile) {
    __pipeline_wait_prior(0);
    FrameSource<double> s = tile.queue.take(frame);
    if (is_heap(index))
        s = heap_source(v, frame, index);
    const Real q =
        index >= no_source ? static_cast<Real>(s.weight) * static_cast<Real>(v.charge_scale) : Real(0);
    __syncwarp();
    tile.source[place] = {static_cast<Real>(s.x), static_cast<Real>(s.y), static_cast<Real>(s.z), q};
    if constexpr (per_particle)
        tile.softening[place] = static_cast<Real>(term_of<kind>(s.softening));
    __syncwarp();
}

/// T targets a lane, targets [first, first + count) of the group.
template <int T, typename Real, DevicePair kind, bool per_particle, bool potential>
__device__ __forceinline__ void run(const EvaluationView& v, const TaskView& tasks, const Task& task,
                                    const GroupFrame& frame, bool plummer, int first, int count, int part,
                                    Tile<Real, per_particle>& tile) {
    const int place = threadIdx.x % part;
    Real x[T], y[T], z[T], soft[T];
    PairSum<Real> sum[T];
#pragma unroll
    for (int t = 0; t < T; ++t) {
        const int64_t k = int64_t{frame.first} + first + min(place + t * part, count - 1);
        x[t] = static_cast<Real>(fma(v.targets.x[k], frame.scale, -frame.centre[0]));
        y[t] = static_cast<Real>(fma(v.targets.y[k], frame.scale, -frame.centre[1]));
        z[t] = static_cast<Real>(fma(v.targets.z[k], frame.scale, -frame.centre[2]));
        if constexpr (per_particle) {
            soft[t] = static_cast<Real>(term_of<kind>(v.targets.softening[k] * frame.scale));
            if constexpr (kind == DevicePair::plummer)
                soft[t] += pair_tiny<Real>();
        }
        sum[t] = {0, 0, 0, 0};
    }
    const Real constant = common_soft<Real>(plummer, v.softening.length, frame.scale);
    const Real length = static_cast<Real>(v.softening.length * frame.scale);
    const int own = threadIdx.x % 32 / part * (part + 1); // this part's first item in the tile
    const int to = tile_place(threadIdx.x % 32, part);
    const SourceList list = source_list(v, tasks.entries, task);
    SourceCursor cursor(list, task);
    int32_t index[1];
    cursor.next(task.begin, index);
    tile.queue.ask(v, v.sources.charge, index);
    for (int32_t begin = task.begin; begin < task.end; begin += 32) {
        fill_tile<Real, kind>(v, frame, index[0], to, tile);
        if (begin + 32 < task.end) {
            cursor.next(begin + 32, index);
            tile.queue.ask(v, v.sources.charge, index);
        }
#pragma unroll 2
        for (int j = own; j < own + part; ++j) {
            const Source<Real> s = tile.source[j];
            const Real term = per_particle ? tile.softening[j] : Real(0);
#pragma unroll
            for (int t = 0; t < T; ++t) {
                const Real added = kind == DevicePair::plummer ? soft[t] + term : constant;
                const Real h = per_particle ? (soft[t] > term ? soft[t] : term) : length;
                add_pair_of<kind, potential>(s.x - x[t], s.y - y[t], s.z - z[t], s.q, added, h, sum[t]);
            }
        }
    }
    auto* slots = static_cast<Slot<Real>*>(tasks.slots) + task.slot + first;
#pragma unroll
    for (int t = 0; t < T; ++t) {
        const Slot<Real> total{add_parts(sum[t].x, part), add_parts(sum[t].y, part),
                               add_parts(sum[t].z, part),
                               potential ? add_parts(sum[t].potential, part) : Real(0)};
        const int k = place + t * part;
        if (threadIdx.x < part && k < count)
            slots[k] = total;
    }
}

template <typename Real, DevicePair kind, bool per_particle, bool potential>
__global__ __launch_bounds__(32) void kernel(EvaluationView v, TaskView tasks, bool plummer) {
    __shared__ Tile<Real, per_particle> tile;
    if (backend::stopped(v.status))
        return;
    const auto total = tasks.counters->pairs();
    for (unsigned u = take_task(&tasks.counters->next_pair); u < total;
         u = take_task(&tasks.counters->next_pair)) {
        const Task task = tasks.pairs[u];
        const GroupFrame frame = tasks.frames[task.group];
        for (int first = 0; first < frame.count; first += 32 * most_targets) {
            const int count = min(32 * most_targets, frame.count - first);
            const int part = part_lanes(count, most_targets);
            with_targets_a_lane<most_targets>((count + part - 1) / part, [&]<int T>() {
                run<T, Real, kind, per_particle, potential>(v, tasks, task, frame, plummer, first, count,
                                                            part, tile);
            });
        }
    }
}

template <typename Real, DevicePair kind, bool per_particle, bool potential>
void launch(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks, bool plummer) {
    static const unsigned blocks = resident_blocks(queue, kernel<Real, kind, per_particle, potential>, 32);
    kernel<Real, kind, per_particle, potential><<<blocks, 32, 0, queue.stream()>>>(view, tasks, plummer);
    GRAFT_CUDA_LAUNCHED("pairs of tasks");
    ++queue.launches;
}

template <typename Real, DevicePair kind, bool per_particle>
void launch(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks,
            const PairVariant& variant) {
    const bool plummer = variant.softening == Softening::plummer;
    if (variant.potential)
        launch<Real, kind, per_particle, true>(queue, view, tasks, plummer);
    else
        launch<Real, kind, per_particle, false>(queue, view, tasks, plummer);
}

template <typename Real>
void launch_any(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks,
                const PairVariant& variant) {
    if (variant.softening == Softening::spline && variant.per_particle)
        launch<Real, DevicePair::spline, true>(queue, view, tasks, variant);
    else if (variant.softening == Softening::spline)
        launch<Real, DevicePair::spline, false>(queue, view, tasks, variant);
    else if (variant.softening == Softening::plummer && variant.per_particle)
        launch<Real, DevicePair::plummer, true>(queue, view, tasks, variant);
    else
        launch<Real, DevicePair::constant, false>(queue, view, tasks, variant);
}

} // namespace graft::forces::general_pairs
