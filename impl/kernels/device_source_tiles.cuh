// What the evaluating kernels share: how a warp takes units, its lanes' targets, and the sources of a list.
//
// Lanes: the warp is cut into 32 / P parts of P lanes; each part sums its own P of every 32 sources for all
// targets of the unit, lane l of a part for the targets l, l + P, l + 2 P ... So groups of any size fill the
// lanes but for a part of P, several targets a lane share each load from shared memory, and the parts are
// added at the end. Parts stand one item apart in shared memory, so that they read different banks.
#pragma once

#include "kernels/device_units.cuh"

#include <cuda_pipeline.h>

namespace graft::kernels {

inline constexpr unsigned whole_warp = ~0u;

/// body.operator()<T>() for T = `targets` of 1 ... most: code for each number of targets a lane.
template <int most, typename Body>
__device__ __forceinline__ void with_targets_a_lane(int targets, Body&& body) {
    if constexpr (most == 1) {
        body.template operator()<1>();
    } else {
        if (targets == most)
            body.template operator()<most>();
        else
            with_targets_a_lane<most - 1>(targets, body);
    }
}

/// Where lane `lane`'s item of a tile of 32 stands in shared memory; tile_items are needed.
__device__ inline int tile_place(int lane, int part) {
    return lane + lane / part;
}
inline constexpr int tile_items = 32 + 8;

/// The next unit's number, the same for all lanes.
__device__ inline unsigned take_unit(unsigned int* counter) {
    unsigned unit = 0;
    if (threadIdx.x % 32 == 0)
        unit = atomicAdd(counter, 1u);
    return __shfl_sync(whole_warp, unit, 0);
}

inline constexpr int32_t no_source = -1; // place of the entry that closes a list; heaps are below

/// Steps through a group's sources, 32 at a time; entries are read one tile ahead.
struct SourceCursor {
    const SourceEntry* entries; // of the group
    int32_t count, entry;       // how many, without the one that closes; the one that the next tile begins in
    SourceEntry own, ahead;     // entries `entry` and entry + 1 + lane

    __device__ SourceCursor(const EvaluationView& v, const SourceEntry* all, const Unit& unit)
        : entries(all + first_entry(v, unit.group)),
          count(static_cast<int32_t>(v.leaf_offset[unit.group + 1] - v.leaf_offset[unit.group])),
          entry(unit.entry), own(entries[entry]) {
        look_ahead();
    }
    __device__ __forceinline__ void look_ahead() {
        ahead = entries[min(entry + 1 + static_cast<int32_t>(threadIdx.x % 32), count)];
    }

    /// The particle (or -2 - node, a heap) that is this lane's of the 32 from `begin` on; no_source behind
    /// the list's end. Units end there or at a multiple of 32.
    __device__ __forceinline__ int32_t next(int32_t begin) {
        const int lane = threadIdx.x % 32;
        const uint32_t start = ahead.start - static_cast<uint32_t>(begin);
        const unsigned starts = __reduce_or_sync(whole_warp, start < 32 ? 1u << start : 0u);
        const int before = __popc(starts & (whole_warp >> (31 - lane))), all = __popc(starts);
        const int32_t its_start = __shfl_sync(whole_warp, ahead.start, before - 1);
        const int32_t its_place = __shfl_sync(whole_warp, ahead.place, before - 1);
        const int32_t first = before > 0 ? its_place : own.place;
        const int32_t skipped = begin + lane - (before > 0 ? its_start : static_cast<int32_t>(own.start));
        if (all > 0) {
            own.start = __shfl_sync(whole_warp, ahead.start, all - 1);
            own.place = __shfl_sync(whole_warp, ahead.place, all - 1);
            entry += all;
        }
        look_ahead();
        return first < 0 ? first : first + skipped;
    }
};

/// A source in the group's frame, in double; its charge scaled.
struct FrameSource {
    double x, y, z, charge, softening;
};

/// The particles of the next tile on their way to shared memory, each lane's own.
template <bool with_softening>
struct SourceQueue {
    double x[32], y[32], z[32], charge[32], softening[with_softening ? 32 : 1];

    /// Begins to read; no_source and heaps read particle 0.
    __device__ __forceinline__ void ask(const EvaluationView& v, int32_t index) {
        const int lane = threadIdx.x % 32;
        const int64_t i = max(index, 0);
        __pipeline_memcpy_async(&x[lane], v.x + i, 8);
        __pipeline_memcpy_async(&y[lane], v.y + i, 8);
        __pipeline_memcpy_async(&z[lane], v.z + i, 8);
        __pipeline_memcpy_async(&charge[lane], v.charge + i, 8);
        if constexpr (with_softening)
            __pipeline_memcpy_async(&softening[lane], v.softening + i, 8);
        __pipeline_commit();
    }
    /// What was asked for, `index` as it was then and not a heap.
    __device__ __forceinline__ FrameSource take(const GroupFrame& frame) const {
        __pipeline_wait_prior(0);
        const int lane = threadIdx.x % 32;
        return {fma(x[lane], frame.scale, -frame.centre[0]), fma(y[lane], frame.scale, -frame.centre[1]),
                fma(z[lane], frame.scale, -frame.centre[2]), charge[lane],
                with_softening ? softening[lane] * frame.scale : 0.0};
    }
};

/// The one source that a heap is; -2 - node.
__device__ inline FrameSource heap_source(const EvaluationView& v, const GroupFrame& frame, int32_t index) {
    const int64_t i = v.nodes[-2 - index].first;
    return {fma(v.x[i], frame.scale, -frame.centre[0]), fma(v.y[i], frame.scale, -frame.centre[1]),
            fma(v.z[i], frame.scale, -frame.centre[2]), v.values[int64_t{-2 - index} * v.terms], 0};
}

/// Adds up the parts of a warp; all lanes get the sum.
template <typename Real>
__device__ inline Real add_parts(Real value, int part) {
    for (int step = part; step < 32; step *= 2)
        value += __shfl_xor_sync(whole_warp, value, step);
    return value;
}

/// The same for T values of each array.
template <int T, typename Real, typename... Arrays>
__device__ __forceinline__ void add_parts(int part, Real (&first)[T], Arrays&... others) {
#pragma unroll 1
    for (int step = part; step < 32; step *= 2) {
        const auto add = [step](Real(&values)[T]) {
#pragma unroll
            for (int t = 0; t < T; ++t)
                values[t] += __shfl_xor_sync(whole_warp, values[t], step);
        };
        add(first), (add(others), ...);
    }
}

/// Blocks of one warp that stay: as many as fit.
template <typename Kernel>
unsigned resident_blocks(const backend::Queue& queue, Kernel kernel, int threads) {
    int blocks = 1;
    GRAFT_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0));
    return static_cast<unsigned>(blocks > 0 ? blocks : 1) * static_cast<unsigned>(queue.multiprocessors());
}

} // namespace graft::kernels
