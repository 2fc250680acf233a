// SPDX-License-Identifier: BSD-3-Clause
// What the steps of the fused construction share: octree_leaves_gpu.cu finds leaves and cells,
// octree_gpu.cu puts nodes in order. Only for them.
#pragma once

#include "tree/build_steps_gpu.cuh"

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

namespace graft::tree::fused {

using device::Cells;

inline constexpr int threads = 1024, warps = threads / 32, levels = device::most_levels;

/// By leaf.
struct BuildLeaves {
    int32_t* start; // leaves + 1
    uint64_t* key;
    // change of cover at its start; cover; first slot; start of the cell of its boundary, and its end where the
    // boundary stands for the cell's node (else 0); its node
    int32_t *mark, *cover, *base, *first, *end, *node, *inner_slot;
};

/// A number for each block; levels: as many as there are levels.
struct BuildBlocks {
    int32_t *leaves, *marks, *slots, *levels;
};

struct Build {
    Cells cells;
    int32_t leaf, n, capacity;
    int64_t search_step; // smallest power of two >= leaf
    const uint64_t* keys;
    uint32_t* flags;
    BuildLeaves leaves;
    int32_t* node_of_slot; // nodes sorted by start, then level
    device::InnerNode* inner;
    BuildBlocks blocks;
    int32_t* tickets;
    DeviceTreeCounts* counts;
    Node* nodes;
    double* edges;
    int32_t* level_offset;
    backend::DeviceStatus* status;
};

/// Per-block state and scratch of the collective steps.
struct Shared {
    union {
        typename cub::BlockScan<int32_t, threads>::TempStorage scan;
        typename cub::BlockReduce<int32_t, threads>::TempStorage reduce;
        int32_t warp_levels[levels][warps];
    };
    int32_t running[levels + 1]; // place of the next node of each level
    int32_t total[levels];
    int32_t used; // levels of the tree
    int32_t value;
};

struct Range {
    int32_t begin, end;
};

__device__ inline Range own_part(int32_t count) {
    const int32_t part = (count + static_cast<int32_t>(gridDim.x) - 1) / static_cast<int32_t>(gridDim.x);
    const int64_t begin = int64_t{part} * blockIdx.x;
    return {static_cast<int32_t>(begin < count ? begin : count),
            static_cast<int32_t>(begin + part < count ? begin + part : count)};
}

__device__ inline int32_t block_sum(int32_t value, Shared& shared) {
    __syncthreads();
    const int32_t sum = cub::BlockReduce<int32_t, threads>(shared.reduce).Sum(value);
    if (threadIdx.x == 0)
        shared.value = sum;
    __syncthreads();
    const int32_t result = shared.value;
    __syncthreads();
    return result;
}

/// Sum of the values of the blocks before `end`.
__device__ inline int32_t sum_blocks(const int32_t* values, unsigned end, Shared& shared) {
    int32_t sum = 0;
    for (unsigned k = threadIdx.x; k < end; k += threads)
        sum += values[k];
    return block_sum(sum, shared);
}

/// Enqueues a kernel whose blocks wait for each other.
inline void launch_together(backend::Queue& queue, void (*kernel)(Build), int blocks, Build build) {
    void* arguments[] = {&build};
    GRAFT_CUDA(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel),
                                           dim3(static_cast<unsigned>(blocks)), dim3(threads), arguments, 0,
                                           queue.stream()));
    ++queue.launches;
}

/// Enqueues: first particles and keys of all leaves, their number to counts->leaves.
void list_leaves(backend::Queue& queue, const Build& build, int blocks);

/// Enqueues: the cell of every leaf's boundary; inner nodes to build.inner, their extents to build.leaves.mark.
void find_cells(backend::Queue& queue, const Build& build);

} // namespace graft::tree::fused
