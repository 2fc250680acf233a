// SPDX-License-Identifier: BSD-3-Clause
// The steps that the two top-down constructions share: roots, a node's children, boxes level by level. Only
// for octree_levels_gpu.cu and two_phase_gpu.cu.
#pragma once

#include "tree/build_steps_gpu.cuh"

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

namespace graft::tree::device {

inline constexpr int most_children = 8;
inline constexpr int most_roots = 512; // a range of keys has at most 2 * 7 * 21 largest cells

/// What both constructions work on; `nodes` is where they put nodes, in their own order.
struct TopDown {
    Cells cells;
    int32_t leaf, n, capacity;
    const uint64_t* keys;
    Node* nodes;
    double* edges;
    int32_t* level_offset;
    int32_t* roots; // their number, then their first particles
    int32_t* block_sums;
    DeviceTreeCounts* counts;
    backend::DeviceStatus* status;
};

/// Children of a node: their number, and where each key cell's particles end, relative to the node's first.
struct Children {
    int32_t count;
    int32_t end[most_children];
};

/// As Splitter::split on the host.
__device__ inline Children split(const TopDown& b, int32_t first, int32_t count) {
    Children children{};
    const int dimension = b.cells.dimension, cells = 1 << dimension;
    const int level = geometry::common_level(b.keys[first], b.keys[first + count - 1], dimension);
    if (count <= b.leaf || level == b.cells.key_levels)
        return children;
    const uint64_t lower = b.cells.first_key(b.keys[first], level), size = b.cells.size(level + 1);
    int32_t begin = first;
#pragma unroll
    for (int cell = 0; cell < most_children; ++cell)
        if (cell < cells) {
            const int32_t end = cell + 1 == cells
                                    ? first + count
                                    : lower_bound(b.keys, begin, first + count,
                                                  lower + static_cast<uint64_t>(cell + 1) * size);
            children.end[cell] = end - first;
            children.count += end > begin;
            begin = end;
        }
    return children;
}

/// Children of node `parent` to nodes[place ...).
__device__ inline void write_children(const TopDown& b, int32_t parent, int32_t place,
                                      const Children& children) {
    Node& node = b.nodes[parent];
    if (children.count == 0)
        return;
    node.first_child = place;
    node.child_count = children.count;
    int32_t begin = 0;
#pragma unroll
    for (int cell = 0; cell < most_children; ++cell) {
        if (children.end[cell] <= begin)
            continue;
        b.nodes[place++] = Node{0, 0, parent, node.level + 1, node.first + begin, children.end[cell] - begin};
        begin = children.end[cell];
    }
}

/// Sum of one value a thread, to all threads of the block.
template <int threads>
__device__ int32_t sum_block(int32_t value) {
    __shared__ typename cub::BlockReduce<int32_t, threads>::TempStorage storage;
    __shared__ int32_t result;
    const int32_t sum = cub::BlockReduce<int32_t, threads>(storage).Sum(value);
    if (threadIdx.x == 0)
        result = sum;
    __syncthreads();
    const int32_t all = result;
    __syncthreads();
    return all;
}

/// Children of nodes [begin, end), counted by the block.
template <int threads>
__device__ int32_t count_children(const TopDown& b, int32_t begin, int32_t end) {
    int32_t children = 0;
    for (int32_t k = begin + static_cast<int32_t>(threadIdx.x); k < end; k += threads)
        children +=
            split(b, static_cast<int32_t>(b.nodes[k].first), static_cast<int32_t>(b.nodes[k].count)).count;
    return sum_block<threads>(children);
}

/// Children of nodes [begin, end) to nodes[place ...), in order, by the block.
template <int threads>
__device__ void write_level(const TopDown& b, int32_t begin, int32_t end, int32_t place) {
    __shared__ typename cub::BlockScan<int32_t, threads>::TempStorage storage;
    for (; begin < end; begin += threads) {
        const int32_t k = begin + static_cast<int32_t>(threadIdx.x);
        Children children{};
        if (k < end)
            children =
                split(b, static_cast<int32_t>(b.nodes[k].first), static_cast<int32_t>(b.nodes[k].count));
        int32_t before, all;
        cub::BlockScan<int32_t, threads>(storage).ExclusiveSum(children.count, before, all);
        if (k < end)
            write_children(b, k, place + before, children);
        place += all;
        __syncthreads();
    }
}

/// Enqueues: the roots to nodes[0 ...), their number to level_offset[1]; counts zero.
void write_roots(backend::Queue& queue, const TopDown& build);

/// Enqueues: boxes of all nodes, a launch a level, from the deepest; the status words of a finished tree.
void bound_levels(backend::Queue& queue, const TopDown& build, DeviceTree& tree);

} // namespace graft::tree::device
