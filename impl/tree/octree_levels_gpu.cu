// SPDX-License-Identifier: BSD-3-Clause
// Octree nodes top down, a launch per level ("levels"): the host's algorithm, for comparison.
//
// Every launch counts the children of its level's nodes, adds the counts up over blocks, and writes the
// children in order. As many launches as keys have levels are enqueued; those behind the last level return.
#include "tree/octree_top_down_gpu.cuh"

#include <cooperative_groups.h>

#include <algorithm>

namespace graft::tree {

namespace {

using device::TopDown;

constexpr int threads = 512;

/// Takes the children's number over; false if there is no room for them.
__device__ bool take_level(const TopDown& b, int level, int32_t end, int64_t total) {
    const bool fits = end + total <= b.capacity;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        b.level_offset[level + 2] = static_cast<int32_t>(end + total);
        b.counts->nodes = static_cast<int32_t>(end + total);
        b.counts->levels = level + 1;
        if (!fits) {
            const int64_t likely = 2 * (end + total), most = 2 * int64_t{b.n};
            b.status->nodes_needed = likely < most ? likely : most;
            backend::stop_with(b.status, backend::too_small);
        }
    }
    return fits;
}

__global__ void __launch_bounds__(threads) split_level(const TopDown b, int level) {
    const int32_t begin = b.level_offset[level], end = b.level_offset[level + 1];
    if (backend::stopped(b.status))
        return;
    if (begin == end) {
        if (blockIdx.x == 0 && threadIdx.x == 0)
            b.level_offset[level + 2] = end;
        return;
    }
    const int32_t part =
        (end - begin + static_cast<int32_t>(gridDim.x) - 1) / static_cast<int32_t>(gridDim.x);
    const int64_t first = begin + int64_t{part} * blockIdx.x;
    const int32_t own = static_cast<int32_t>(first < end ? first : end);
    const int32_t own_end = own + part < end ? own + part : end;
    const int32_t children = device::count_children<threads>(b, own, own_end);
    if (threadIdx.x == 0)
        b.block_sums[blockIdx.x] = children;
    cooperative_groups::this_grid().sync();
    int32_t before = 0, all = 0;
    for (unsigned k = threadIdx.x; k < gridDim.x; k += threads) {
        all += b.block_sums[k];
        before += k < blockIdx.x ? b.block_sums[k] : 0;
    }
    before = device::sum_block<threads>(before);
    all = device::sum_block<threads>(all);
    if (take_level(b, level, end, all))
        device::write_level<threads>(b, own, own_end, end + before);
}

} // namespace

void DeviceTreeBuilder::Work::make_nodes_by_levels(backend::Queue& queue, DeviceTree& tree) {
    roots.resize(device::most_roots + 1);
    block_sums.resize(queue.multiprocessors());
    TopDown build{device::Cells(tree.options), tree.options.leaf,        static_cast<int32_t>(tree.n),
                  tree.node_capacity(),        tree.keys.data(),         tree.nodes.data(),
                  tree.edges.data(),           tree.level_offset.data(), roots.data(),
                  block_sums.data(),           tree.counts.data(),       queue.status()};
    device::write_roots(queue, build);
    for (int level = 0; level <= build.cells.key_levels; ++level, ++queue.launches) {
        void* arguments[] = {&build, &level};
        GRAFT_CUDA(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(split_level),
                                               dim3(static_cast<unsigned>(queue.multiprocessors())),
                                               dim3(threads), arguments, 0, queue.stream()));
    }
    join_beside(queue);
    device::bound_levels(queue, build, tree);
}

} // namespace graft::tree
