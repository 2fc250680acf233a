// SPDX-License-Identifier: BSD-3-Clause
// What the evaluating kernels share: how a warp takes tasks, its lanes' targets, and the sources of a list.
//
// Lanes: the warp is cut into 32 / P parts of P lanes; each part sums its own P of every 32 sources for all
// targets of the task, lane l of a part for the targets l, l + P, l + 2 P ... So groups of any size fill the
// lanes but for a part of P, several targets a lane share each load from shared memory, and the parts are
// added at the end. Parts stand one item apart in shared memory, so that they read different banks.
#pragma once

#include "forces/warp_tasks_gpu.cuh"

#include <cuda_pipeline.h>

namespace graft::forces {

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

/// Copies a small object to shared memory (a warp; the caller synchronizes).
template <typename T>
__device__ __forceinline__ void copy_to_shared(const T& from, T& to) {
    constexpr int words = sizeof(T) / sizeof(int32_t);
    static_assert(words <= 32);
    if (threadIdx.x % 32 < words)
        reinterpret_cast<int32_t*>(&to)[threadIdx.x % 32] =
            reinterpret_cast<const int32_t*>(&from)[threadIdx.x % 32];
}

/// The next task's number, the same for all lanes.
__device__ inline unsigned take_task(unsigned int* counter) {
    unsigned task = 0;
    if (threadIdx.x % 32 == 0)
        task = atomicAdd(counter, 1u);
    return __shfl_sync(whole_warp, task, 0);
}

/// A source's index: its particle, or -2 - node for a heap; below no_source: none, behind the list's end.
inline constexpr int32_t no_source = INT32_MIN / 2;
__device__ inline bool is_heap(int32_t index) {
    return static_cast<uint32_t>(index) - static_cast<uint32_t>(no_source) <
           static_cast<uint32_t>(-no_source);
}

/// The entries of a task's group.
struct SourceList {
    const SourceEntry* entries;
    int32_t count; // without the one that closes
};
__device__ inline SourceList source_list(const EvaluationView& v, const SourceEntry* all, const Task& task) {
    return {all + first_entry(v, task.group),
            static_cast<int32_t>(v.lists.leaf_offset[task.group + 1] - v.lists.leaf_offset[task.group])};
}

/// Steps through a task's sources, 32 or 64 at a time; entries are read ahead.
struct SourceCursor {
    const SourceList& list;
    int32_t entry;     // the one that the next tile begins in
    uint32_t shift;    // its own
    SourceEntry ahead; // entry + 1 + lane

    __device__ SourceCursor(const SourceList& of, const Task& task)
        : list(of), entry(task.entry), shift(list.entries[entry].shift) {
        look_ahead();
    }
    __device__ __forceinline__ void look_ahead() {
        ahead = list.entries[min(entry + 1 + static_cast<int32_t>(threadIdx.x % 32), list.count)];
    }

    /// This lane's sources `begin` + lane, + 32 ... of the list; no_source behind its end. Units begin at
    /// multiples of 32 and end there or with the list.
    template <int rows>
    __device__ __forceinline__ void next(int32_t begin, int32_t (&index)[rows]) {
        const int lane = threadIdx.x % 32;
        unsigned starts[rows];
        int all = 0;
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            const uint32_t start = ahead.start - static_cast<uint32_t>(begin + 32 * r);
            starts[r] = __reduce_or_sync(whole_warp, start < 32 ? 1u << start : 0u);
            all += __popc(starts[r]);
        }
        if constexpr (rows > 1)
            if (all == 32) { // leaves of a particle or two: more entries may begin here than were read ahead
                for (int r = 0; r < rows; ++r) {
                    int32_t one[1];
                    next(begin + 32 * r, one);
                    index[r] = one[0];
                }
                return;
            }
        int before = 0;
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            const int own = before + __popc(starts[r] & (whole_warp >> (31 - lane)));
            const uint32_t its_shift = __shfl_sync(whole_warp, ahead.shift, own - 1);
            index[r] = static_cast<int32_t>(begin + 32 * r + lane + (own > 0 ? its_shift : shift));
            before += __popc(starts[r]);
        }
        if (all > 0) {
            shift = __shfl_sync(whole_warp, ahead.shift, all - 1);
            entry += all;
            look_ahead();
        }
    }
};

/// A source in the group's frame, in double; its charge, or what stands for it in the kernel's queue.
template <typename Weight>
struct FrameSource {
    double x, y, z;
    Weight weight;
    double softening;
};

/// The particles of the next tile on their way to shared memory, each lane's own.
template <typename Weight, bool with_softening, int rows = 1>
struct SourceQueue {
    double x[rows][32], y[rows][32], z[rows][32];
    Weight weight[rows][32];
    double softening[with_softening ? rows : 1][with_softening ? 32 : 1];

    /// Begins to read; none and heaps read particle 0.
    __device__ __forceinline__ void ask(const EvaluationView& v, const Weight* weights,
                                        const int32_t (&index)[rows]) {
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            const int64_t i = max(index[r], 0);
            __pipeline_memcpy_async(&x[r][lane], v.sources.x + i, 8);
            __pipeline_memcpy_async(&y[r][lane], v.sources.y + i, 8);
            __pipeline_memcpy_async(&z[r][lane], v.sources.z + i, 8);
            __pipeline_memcpy_async(&weight[r][lane], weights + i, sizeof(Weight));
            if constexpr (with_softening)
                __pipeline_memcpy_async(&softening[r][lane], v.sources.softening + i, 8);
        }
        __pipeline_commit();
    }
    /// What was asked for and waited for, of a row whose index is a particle.
    __device__ __forceinline__ FrameSource<Weight> take(const GroupFrame& frame, int row = 0) const {
        const int lane = threadIdx.x % 32;
        return {fma(x[row][lane], frame.scale, -frame.centre[0]),
                fma(y[row][lane], frame.scale, -frame.centre[1]),
                fma(z[row][lane], frame.scale, -frame.centre[2]), weight[row][lane],
                with_softening ? softening[row][lane] * frame.scale : 0.0};
    }
};

/// The one source that a heap is.
__device__ inline FrameSource<double> heap_source(const EvaluationView& v, const GroupFrame& frame,
                                                  int32_t index) {
    const int64_t i = v.sources.nodes[-2 - index].first;
    return {fma(v.sources.x[i], frame.scale, -frame.centre[0]),
            fma(v.sources.y[i], frame.scale, -frame.centre[1]),
            fma(v.sources.z[i], frame.scale, -frame.centre[2]),
            v.expansions.values[int64_t{-2 - index} * v.expansions.terms], 0};
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

} // namespace graft::forces
