// SPDX-License-Identifier: BSD-3-Clause
// The single-precision pair kernel without softening or with one Plummer length: 12 instruction slots a pair.
//
// With a = |q|^(-1/2) sign(q) per source and s' = a s, the distance a (s - x) is one multiply-add, and
//     q d / r^3 = d' / r'^3,   d' = s' - a x, r' = |a| r:
// 3 FMA for d', 3 for r'^2, a reciprocal root, 2 products for r'^-3 and 3 FMA for the sums: the charge costs
// nothing. But d' of a particle with itself is a rounding error and not zero; in rows of 32 sources that may
// hold a target d' is therefore made as a (s - x), in 6 slots, and a pair at distance zero adds exactly
// nothing. Potential: q / r = b / r' with b = |q|^(1/2) sign(q), one slot more (two where a pair at distance
// zero must be left out).
//
// An instruction that reads three registers, none of which the one before it has read in the same place, may
// wait for a bank of registers, and the compiler, left alone, mixes the steps of several targets. The branch
// between the two forms of d' keeps the distances of all targets in a block of their own, where s' and a are
// read once; what that is worth: docs/gpu/evaluate.md.
#pragma once

#include "forces/source_tiles_gpu.cuh"
#include "forces/vector_ops_gpu.cuh"

namespace graft::forces::fast_pairs {

inline constexpr float far_away = 1e17f;     // where padding stands, without charge
inline constexpr int most_targets = most_targets_a_lane;

inline constexpr int rows = 2; // of 32 sources, that a tile has

template <bool potential>
struct Tile {
    float4 source[rows][tile_items]; // s' or s (exact), and a
    float root_charge[rows][potential ? tile_items : 1];
    SourceQueue<float, false, rows> queue;
    int32_t index[rows][32]; // of what is in the queue
    // Of the task; registers are for targets.
    Task task;
    GroupFrame frame;
    SourceList list;
};

template <int T>
struct Lane {
    float x[T], y[T], z[T]; // minus the targets' places
    float ax[T], ay[T], az[T], p[T];
};

/// Particles whose rows take the exact form: those of the group, or all.
struct Own {
    int32_t first;
    uint32_t count;

    __device__ Own(const EvaluationView& v, const GroupFrame& frame)
        : first(v.targets.same_places ? frame.first : 0),
          count(v.targets.same_places ? static_cast<uint32_t>(frame.count) : uint32_t{INT32_MAX} + 1) {}
    /// Whether the row may hold a target or holds a heap (all lanes).
    __device__ __forceinline__ bool meets(int32_t index) const {
        const bool own = static_cast<uint32_t>(index - first) < count;
        return __any_sync(whole_warp, own | is_heap(index)); // no branches
    }
};

/// Stores this lane's source of the row.
template <bool potential>
__device__ __forceinline__ void fill_row(const EvaluationView& v, int32_t index, int row, bool exact,
                                         int place, Tile<potential>& tile) {
    const auto particle = tile.queue.take(tile.frame, row);
    float4 item = make_float4(static_cast<float>(particle.x), static_cast<float>(particle.y),
                              static_cast<float>(particle.z), index < 0 ? 0.0f : particle.weight);
    if (exact) {
        if (is_heap(index)) {
            const auto heap = heap_source(v, tile.frame, index);
            item = make_float4(static_cast<float>(heap.x), static_cast<float>(heap.y),
                               static_cast<float>(heap.z), size_of(heap.weight * v.charge_scale));
        }
    } else {
        item.x *= item.w, item.y *= item.w, item.z *= item.w;
    }
    if constexpr (potential)
        tile.root_charge[row][place] = item.w != 0 ? 1 / item.w : 0.0f;
    item.x = item.w != 0 ? item.x : far_away;
    item.w = item.w != 0 ? item.w : 1.0f;
    tile.source[row][place] = item;
}

/// a (s - x) of `step` sources and T targets.
template <int T, int step, bool exact>
__device__ __forceinline__ void differences(const float4 (&source)[step], const Lane<T>& lane,
                                            float (&d)[3][step][T]) {
#pragma unroll
    for (int u = 0; u < step; ++u) {
        const float4 s = source[u];
        const auto along = [&](float place, const float(&x)[T], float(&to)[T]) {
#pragma unroll
            for (int t = 0; t < T; ++t)
                to[t] = exact ? (place + x[t]) * s.w : fmaf(x[t], s.w, place);
        };
        along(s.x, lane.x, d[0][u]), along(s.y, lane.y, d[1][u]), along(s.z, lane.z, d[2][u]);
    }
}

/// Adds the part's sources, `step` a turn.
template <int T, bool softened, bool potential, int step>
__device__ __forceinline__ void add_sources(const float4* source, const float* root_charge, int part,
                                            bool exact, float eps2, Lane<T>& lane) {
    const float4* const end = source + part;
#pragma unroll 1
    do {
        float4 s[step];
        float d[3][step][T], soft[step];
#pragma unroll
        for (int u = 0; u < step; ++u)
            s[u] = source[u];
        int form = exact;
        asm volatile("" : "+r"(form)); // or there would be two loops, each a single block again
        if (form != 0)
            differences<T, step, true>(s, lane, d);
        else
            differences<T, step, false>(s, lane, d);
#pragma unroll
        for (int u = 0; u < step; ++u)
            soft[u] = softened ? s[u].w * s[u].w * eps2 : pair_tiny<float>();
        source += step;
#pragma unroll
        for (int u = 0; u < step; ++u) {
            const float b = potential ? root_charge[u] : 0.0f;
#pragma unroll
            for (int t = 0; t < T; ++t) {
                const float dx = d[0][u][t], dy = d[1][u][t], dz = d[2][u][t];
                const float r2 = fmaf(dz, dz, fmaf(dy, dy, fmaf(dx, dx, soft[u])));
                const float i = root_estimate(r2);
                const float i3 = i * i * i;
                lane.ax[t] = fmaf(i3, dx, lane.ax[t]);
                lane.ay[t] = fmaf(i3, dy, lane.ay[t]);
                lane.az[t] = fmaf(i3, dz, lane.az[t]);
                if constexpr (potential)
                    if (softened || r2 > pair_tiny<float>())
                        lane.p[t] = fmaf(i, b, lane.p[t]);
            }
        }
        if constexpr (potential)
            root_charge += step;
    } while (source < end);
}

/// T targets a lane, targets [first, first + count) of the group.
template <int T, bool softened, bool potential>
__device__ __forceinline__ void run(const EvaluationView& v, const TaskView& tasks, int first, int count,
                                    int part, Tile<potential>& tile) {
    const GroupFrame& frame = tile.frame;
    constexpr int step = T > 5 ? 1 : 2; // sources a turn of the inner loop
    const int lane_number = threadIdx.x % 32, place = lane_number & (part - 1); // parts are powers of two
    const int own_part = lane_number >> __popc(part - 1);
    Lane<T> lane;
#pragma unroll
    for (int t = 0; t < T; ++t) {
        const int64_t k = int64_t{frame.first} + first + min(place + t * part, count - 1);
        lane.x[t] = -static_cast<float>(fma(v.targets.x[k], frame.scale, -frame.centre[0]));
        lane.y[t] = -static_cast<float>(fma(v.targets.y[k], frame.scale, -frame.centre[1]));
        lane.z[t] = -static_cast<float>(fma(v.targets.z[k], frame.scale, -frame.centre[2]));
        lane.ax[t] = lane.ay[t] = lane.az[t] = lane.p[t] = 0;
    }
    const double length = v.softening.length * frame.scale;
    const float eps2 = fmaxf(static_cast<float>(length * length), pair_tiny<float>());
    const int own = own_part * (part + 1); // this part's first item in the row
    const int to = lane_number + own_part;
    SourceCursor cursor(tile.list, tile.task);
    const auto ask = [&](int32_t begin) {
        int32_t index[rows];
        cursor.next(begin, index);
        tile.queue.ask(v, v.sources.size, index);
        for (int r = 0; r < rows; ++r)
            tile.index[r][threadIdx.x % 32] = index[r];
    };
    ask(tile.task.begin);
    for (int32_t begin = tile.task.begin; begin < tile.task.end; begin += 32 * rows) {
        unsigned exact = 0; // a bit a row
        __pipeline_wait_prior(0);
        __syncwarp();
        const Own targets(v, frame);
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            const int32_t index = tile.index[r][threadIdx.x % 32];
            const bool meets = targets.meets(index);
            exact |= meets ? 1u << r : 0;
            fill_row<potential>(v, index, r, meets, to, tile);
        }
        __syncwarp();
        const int32_t left = tile.task.end - begin;
        if (left > 32 * rows)
            ask(begin + 32 * rows);
#pragma unroll 1
        for (int r = 0; r < rows && 32 * r < left; ++r) {
            const float4* source = tile.source[r] + own;
            const float* root_charge = tile.root_charge[r] + (potential ? own : 0);
            add_sources<T, softened, potential, step>(source, root_charge, part, (exact >> r & 1) != 0, eps2,
                                                      lane);
        }
    }
    add_parts(part, lane.ax, lane.ay, lane.az);
    if constexpr (potential)
        add_parts(part, lane.p);
    auto* slots = static_cast<Slot<float>*>(tasks.slots) + tile.task.slot + first;
#pragma unroll
    for (int t = 0; t < T; ++t) {
        const int k = place + t * part;
        if (threadIdx.x < part && k < count)
            slots[k] = {lane.ax[t], lane.ay[t], lane.az[t], potential ? lane.p[t] : 0.0f};
    }
}

/// Copies what is read of a task to shared memory (a warp).
template <bool potential>
__device__ __forceinline__ void take(const EvaluationView& v, const TaskView& tasks, unsigned number,
                                     Tile<potential>& tile) {
    const Task& task = tasks.pairs[number];
    __syncwarp();
    copy_to_shared(task, tile.task), copy_to_shared(tasks.frames[task.group], tile.frame);
    if (threadIdx.x % 32 == 0)
        tile.list = source_list(v, tasks.entries, task);
    __syncwarp();
}

/// most: targets a lane.
template <bool softened, bool potential, int most = most_targets>
__global__ __launch_bounds__(32, 16) void kernel(EvaluationView v, TaskView tasks) {
    __shared__ Tile<potential> tile;
    if (backend::stopped(v.status))
        return;
    const auto total = tasks.counters->pairs();
    for (unsigned u = take_task(&tasks.counters->next_pair); u < total;
         u = take_task(&tasks.counters->next_pair)) {
        take(v, tasks, u, tile);
        const int all = tile.frame.count;
        for (int first = 0; first < all; first += 32 * most) {
            const int count = min(32 * most, all - first);
            const int part = part_lanes(count, most);
            with_targets_a_lane<most>((count + part - 1) / part, [&]<int T>() {
                run<T, softened, potential>(v, tasks, first, count, part, tile);
            });
        }
    }
}

template <bool softened, bool potential>
void launch(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks) {
    static const unsigned per_device = resident_blocks(queue, kernel<softened, potential>, 32);
    kernel<softened, potential><<<per_device, 32, 0, queue.stream()>>>(view, tasks);
    GRAFT_CUDA_LAUNCHED("fast pairs");
    ++queue.launches;
}

} // namespace graft::forces::fast_pairs
