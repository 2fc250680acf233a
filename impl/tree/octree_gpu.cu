// SPDX-License-Identifier: BSD-3-Clause
// Octree nodes from sorted keys in four launches, without a loop over levels ("fused").
//
// A boundary is a place between neighbouring particles; its level is that of the smallest cell with both. A
// leaf starts at a boundary exactly when that cell holds more than N_leaf particles: the cell is then an
// inner node, in which the boundary parts two children. The first boundary of its level in a cell stands for
// that inner node, so leaves (list_leaves) and inner nodes (find_cells) are both found from neighbouring keys
// alone. Nodes that start at leaf k stand on consecutive levels: from the number of inner nodes around the
// boundary k ("cover") down to the leaf itself. Counting, level by level, the leaves before k whose nodes
// reach a level gives the place of a node in level order (make_nodes); its parent starts at the same leaf,
// one level up, or at the start of the cell of its boundary. All sums are of integers, so the order of
// atomic additions does not matter. Bytes: 8 n for keys and n / 4 for flags, about 150 a leaf. Boxes are
// made at the same time on the gather's stream, and may stop the computation: from list_leaves on, kernels
// here look at `listed` instead of the stop word, which could change between the blocks' looks.
#include "tree/octree_gpu.cuh"

#include <cooperative_groups.h>

#include <algorithm>

namespace graft::tree {

using namespace fused;

namespace {

/// From so many particles on, boxes made beside the nodes are worth the nodes' registers.
constexpr int64_t whole_below = int64_t{1} << 18;

__device__ int32_t slots_of(const Build& b, int32_t k) {
    const int32_t rise = b.leaves.mark[k + 1];
    return 1 + (rise > 0 ? rise : 0);
}

__device__ void sum_marks(const Build& b, int32_t leaves, Shared& shared) {
    const Range own = own_part(leaves);
    int32_t marks = 0, slots = 0;
    for (int32_t k = own.begin + static_cast<int32_t>(threadIdx.x); k < own.end; k += threads) {
        marks += b.leaves.mark[k];
        slots += slots_of(b, k);
    }
    marks = block_sum(marks, shared);
    slots = block_sum(slots, shared);
    if (threadIdx.x == 0) {
        b.blocks.marks[blockIdx.x] = marks;
        b.blocks.slots[blockIdx.x] = slots;
    }
}

/// Cover and first slot of each leaf, and the block's number of nodes on each level.
__device__ void scan_marks(const Build& b, int32_t leaves, Shared& shared) {
    const Range own = own_part(leaves);
    int32_t cover = sum_blocks(b.blocks.marks, blockIdx.x, shared);
    int32_t slot = sum_blocks(b.blocks.slots, blockIdx.x, shared);
    if (threadIdx.x <= levels)
        shared.running[threadIdx.x] = 0;
    for (int32_t begin = own.begin; begin < own.end; begin += threads) {
        const int32_t k = begin + static_cast<int32_t>(threadIdx.x);
        const int32_t slots = k < own.end ? slots_of(b, k) : 0;
        int32_t here, before, all_marks, all_slots;
        cub::BlockScan<int32_t, threads>(shared.scan)
            .InclusiveSum(k < own.end ? b.leaves.mark[k] : 0, here, all_marks);
        __syncthreads();
        cub::BlockScan<int32_t, threads>(shared.scan).ExclusiveSum(slots, before, all_slots);
        __syncthreads();
        if (k < own.end) {
            b.leaves.cover[k] = cover + here;
            b.leaves.base[k] = slot + before;
            atomicAdd(shared.running + cover + here, 1);
            atomicAdd(shared.running + cover + here + slots, -1);
        }
        cover += all_marks;
        slot += all_slots;
    }
    __syncthreads();
    if (threadIdx.x == 0)
        for (int l = 0, nodes = 0; l < levels; ++l)
            b.blocks.levels[blockIdx.x * levels + l] = nodes += shared.running[l];
}

/// running[l] = place of the block's first node of level l, total[l] = nodes of the level.
__device__ void place_levels(const Build& b, Shared& shared) {
    constexpr int blocks_at_once = threads / levels;
    const int row = static_cast<int>(threadIdx.x) / levels, level = static_cast<int>(threadIdx.x) % levels;
    if (threadIdx.x < levels)
        shared.running[threadIdx.x] = shared.total[threadIdx.x] = 0;
    __syncthreads();
    int32_t before = 0, all = 0;
    for (unsigned block = row; row < blocks_at_once && block < gridDim.x; block += blocks_at_once) {
        const int32_t nodes = b.blocks.levels[block * levels + level];
        all += nodes;
        before += block < blockIdx.x ? nodes : 0;
    }
    if (row < blocks_at_once) {
        atomicAdd(shared.running + level, before);
        atomicAdd(shared.total + level, all);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int32_t offset = 0, used = 0;
        for (int l = 0; l < levels; ++l) {
            shared.running[l] += offset;
            if (blockIdx.x == 0)
                b.level_offset[l] = offset;
            offset += shared.total[l];
            used = shared.total[l] > 0 ? l + 1 : used;
        }
        shared.used = used;
        if (blockIdx.x == 0) {
            b.level_offset[levels] = offset;
            b.counts->levels = used;
            b.status->levels = used;
        }
    }
    __syncthreads();
}

/// Nodes of each level that the warps before this one have among the block's `threads` leaves.
__device__ void count_warps(Shared& shared, int32_t top, int32_t bottom) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    for (int l = 0; l < shared.used; ++l) {
        const uint32_t active = __ballot_sync(~0u, top <= l && l <= bottom);
        if (lane == 0)
            shared.warp_levels[l][warp] = __popc(active);
    }
    __syncthreads();
    for (int l = warp; l < shared.used; l += warps) {
        const int32_t own = shared.warp_levels[l][lane];
        int32_t sum = own;
        for (int distance = 1; distance < 32; distance *= 2) {
            const int32_t other = __shfl_up_sync(~0u, sum, distance);
            sum += lane >= distance ? other : 0;
        }
        shared.warp_levels[l][lane] = shared.running[l] + sum - own;
        if (lane == 31)
            shared.total[l] = shared.running[l] + sum;
    }
    __syncthreads();
}

/// The nodes that start at leaf k, from its cover down to the leaf; what others know follows in link_nodes.
__device__ void write_nodes(const Build& b, Shared& shared, int32_t k, int32_t top, int32_t bottom) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const uint32_t before = (1u << lane) - 1;
    int32_t parent = -1;
    for (int l = 0; l < shared.used; ++l) {
        const bool active = top <= l && l <= bottom;
        const uint32_t lanes = __ballot_sync(~0u, active);
        if (!active)
            continue;
        const int32_t node = shared.warp_levels[l][warp] + __popc(lanes & before);
        const bool is_leaf = l == bottom;
        const int32_t start = b.leaves.start[k];
        if (l > top)
            b.nodes[parent].first_child = node;
        b.nodes[node] =
            Node{0, is_leaf ? 0 : 1, parent, l, start, is_leaf ? b.leaves.start[k + 1] - start : 0};
        b.node_of_slot[b.leaves.base[k] + l - top] = node;
        if (is_leaf) {
            b.leaves.node[k] = node;
            const int level =
                geometry::common_level(b.leaves.key[k], b.keys[b.leaves.start[k + 1] - 1], b.cells.dimension);
            b.edges[node] = device::cell_edge(b.counts->root_edge, level);
        }
        parent = node;
    }
}

__device__ void place_nodes(const Build& b, int32_t leaves, Shared& shared) {
    place_levels(b, shared);
    const Range own = own_part(leaves);
    for (int32_t begin = own.begin; begin < own.end; begin += threads) {
        const int32_t k = begin + static_cast<int32_t>(threadIdx.x);
        const bool valid = k < own.end;
        const int32_t top = valid ? b.leaves.cover[k] : levels,
                      bottom = valid ? top + slots_of(b, k) - 1 : -1;
        count_warps(shared, top, bottom);
        write_nodes(b, shared, k, top, bottom);
        __syncthreads();
        if (threadIdx.x < levels)
            shared.running[threadIdx.x] = shared.total[threadIdx.x];
        __syncthreads();
    }
}

/// Parents of the outermost nodes at each leaf; extents and children of inner nodes.
__device__ void link_nodes(const Build& b, int32_t leaves) {
    const int32_t stride = static_cast<int32_t>(gridDim.x) * threads;
    for (int32_t k = static_cast<int32_t>(blockIdx.x * threads + threadIdx.x); k < leaves; k += stride) {
        const int32_t first = b.leaves.first[k], end = b.leaves.end[k];
        if (first == k)
            continue; // a root
        const int32_t parent =
            b.node_of_slot[b.leaves.base[first] + b.leaves.cover[k] - 1 - b.leaves.cover[first]];
        b.nodes[b.node_of_slot[b.leaves.base[k]]].parent = parent;
        atomicAdd(&b.nodes[parent].child_count, 1);
        if (end == 0)
            continue;
        b.nodes[parent].count = b.leaves.start[end] - b.leaves.start[first];
        b.edges[parent] =
            device::cell_edge(b.counts->root_edge, b.cells.level(b.leaves.key[k - 1], b.leaves.key[k]));
        b.inner[b.leaves.inner_slot[k]].node = parent;
    }
}

/// The same answer in all blocks: the numbers are those of earlier kernels.
__device__ bool fits(const Build& b, int32_t leaves) {
    const int64_t nodes = int64_t{leaves} + b.tickets[device::inner_total];
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        b.counts->nodes = static_cast<int32_t>(nodes);
        b.status->nodes_needed = nodes;
        b.status->leaves = leaves;
        b.tickets[device::nodes_ready] = nodes <= b.capacity;
        if (nodes > b.capacity)
            backend::stop_with(b.status, backend::too_small);
    }
    return nodes <= b.capacity;
}

/// Parts: that a multiprocessor's registers are divided into. A kernel that takes half of them leaves room
/// for boxes of leaves beside it; where there are few, it is faster with all.
template <int parts>
__global__ void __launch_bounds__(threads, parts) make_nodes(const Build b) {
    __shared__ Shared shared;
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    const int32_t leaves = b.counts->leaves;
    if (b.tickets[device::listed] == 0 || !fits(b, leaves))
        return;
    sum_marks(b, leaves, shared);
    grid.sync();
    scan_marks(b, leaves, shared);
    grid.sync();
    place_nodes(b, leaves, shared);
    grid.sync();
    link_nodes(b, leaves);
}

int64_t power_of_two(int64_t least) {
    int64_t power = 1;
    while (power < least)
        power *= 2;
    return power;
}

} // namespace

void DeviceTreeBuilder::Work::make_tree(backend::Queue& queue, DeviceTree& tree) {
    const int most = queue.multiprocessors();
    const int blocks = std::min(most, static_cast<int>(backend::blocks_for(tree.n, threads)));
    block_sums.resize(int64_t{most} * (3 + levels));
    GRAFT_CUDA(cudaMemsetAsync(tickets.data() + device::inner_total, 0, 3 * sizeof(int32_t), queue.stream()));
    int32_t* sums = block_sums.data();
    const Build build{Cells(tree.options),
                      tree.options.leaf,
                      static_cast<int32_t>(tree.n),
                      tree.node_capacity(),
                      power_of_two(std::min<int64_t>(tree.options.leaf, tree.n)),
                      sorted_keys,
                      flags.data(),
                      {index.data(), leaf_keys, leaves.mark.data(), leaves.cover.data(), leaves.base.data(),
                       leaves.first.data(), leaves.end.data(), leaves.node.data(), leaves.inner_slot.data()},
                      leaves.node_of_slot.data(),
                      inner.data(),
                      {sums, sums + most, sums + 2 * most, sums + 3 * most},
                      tickets.data(),
                      tree.counts.data(),
                      tree.nodes.data(),
                      tree.edges.data(),
                      tree.level_offset.data(),
                      queue.status()};
    list_leaves(queue, build, blocks);
    bound_leaves_beside(queue, tree);
    find_cells(queue, build);
    bound_inner_beside(queue, tree);
    launch_together(queue, tree.n < whole_below ? make_nodes<1> : make_nodes<2>, blocks, build);
    join_beside(queue);
    place_boxes(queue, tree);
}

} // namespace graft::tree
