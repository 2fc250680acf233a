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

inline constexpr int32_t no_source = INT32_MIN;

/// Steps through a group's sources, 32 at a time; entries are read one tile ahead.
struct SourceCursor {
    const uint32_t* position; // of the group's entries
    const int32_t* place;
    int32_t entries, entry; // the entry that the next tile begins in
    uint32_t base, own_start,
        ahead_start; // position of the group's first source, of `entry`, of entry + 1 + lane
    int32_t own_place, ahead_place;

    __device__ SourceCursor(const EvaluationView& v, const ListSources& sources, const Unit& unit)
        : position(sources.position + v.leaf_offset[unit.group]),
          place(sources.place + v.leaf_offset[unit.group]),
          entries(static_cast<int32_t>(v.leaf_offset[unit.group + 1] - v.leaf_offset[unit.group])),
          entry(unit.entry), base(position[0]), own_start(position[entry]), own_place(place[entry]) {
        look_ahead();
    }
    __device__ __forceinline__ void look_ahead() {
        const int32_t ahead =
            min(entry + 1 + static_cast<int32_t>(threadIdx.x % 32), entries); // that one closes it
        ahead_start = position[ahead], ahead_place = place[ahead];
    }

    /// The particle (or -1 - node, a heap) that is this lane's of the 32 from `begin` on; no_source behind
    /// end.
    __device__ __forceinline__ int32_t next(int32_t begin, int32_t end) {
        const int lane = threadIdx.x % 32;
        const uint32_t tile = base + static_cast<uint32_t>(begin), start = ahead_start - tile;
        const unsigned starts = __reduce_or_sync(whole_warp, start < 32 ? 1u << start : 0u);
        const int before = __popc(starts & (whole_warp >> (31 - lane))), all = __popc(starts);
        const uint32_t its_start = __shfl_sync(whole_warp, ahead_start, before - 1);
        const int32_t its_place = __shfl_sync(whole_warp, ahead_place, before - 1);
        const int32_t first = before > 0 ? its_place : own_place;
        const uint32_t skipped = tile + lane - (before > 0 ? its_start : own_start);
        if (all > 0) {
            own_start = __shfl_sync(whole_warp, ahead_start, all - 1);
            own_place = __shfl_sync(whole_warp, ahead_place, all - 1);
            entry += all;
        }
        look_ahead();
        if (begin + lane >= end)
            return no_source;
        return first < 0 ? first : first + static_cast<int32_t>(skipped);
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

/// The one source that a heap is; -1 - node.
__device__ inline FrameSource heap_source(const EvaluationView& v, const GroupFrame& frame, int32_t index) {
    const int64_t i = v.nodes[-1 - index].first;
    return {fma(v.x[i], frame.scale, -frame.centre[0]), fma(v.y[i], frame.scale, -frame.centre[1]),
            fma(v.z[i], frame.scale, -frame.centre[2]), v.values[int64_t{-1 - index} * v.terms], 0};
}

/// Adds up the parts of a warp; all lanes get the sum.
template <typename Real>
__device__ inline Real add_parts(Real value, int part) {
    for (int step = part; step < 32; step *= 2)
        value += __shfl_xor_sync(whole_warp, value, step);
    return value;
}

/// Blocks of one warp that stay: as many as fit.
template <typename Kernel>
unsigned resident_blocks(const backend::Queue& queue, Kernel kernel, int threads) {
    int blocks = 1;
    GRAFT_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0));
    return static_cast<unsigned>(blocks > 0 ? blocks : 1) * static_cast<unsigned>(queue.multiprocessors());
}

} // namespace graft::kernels
