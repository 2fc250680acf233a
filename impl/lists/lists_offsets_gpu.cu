// SPDX-License-Identifier: BSD-3-Clause
// Counts of entries become offsets. Where there is room for a few thousand groups one block does it all in
// one launch, of 2,048 or 8,192 groups a round; otherwise the library's scan does: a round of 8,192 takes the
// block 19 us.
#include "lists/walk_gpu.cuh"

#include "backend/primitives_gpu.cuh"

#include <cub/block/block_scan.cuh>

namespace graft::lists::device {

namespace {

constexpr int threads = 1024;
constexpr int64_t few = 6144, most_by_one_block = 8192; // groups

__device__ void check_room(const WalkView& view, int64_t nodes, int64_t leaves, int64_t node_room,
                           int64_t leaf_room) {
    view.status->node_entries_needed = max(view.status->node_entries_needed, nodes);
    view.status->leaf_entries_needed = max(view.status->leaf_entries_needed, leaves);
    if (nodes > node_room || leaves > leaf_room)
        backend::stop_with(view.status, backend::too_small);
}

__global__ void check_totals(WalkView view, WalkLists lists, int64_t last, int64_t node_room,
                             int64_t leaf_room) {
    if (!backend::stopped(view.status))
        check_room(view, lists.node_offset[last], lists.leaf_offset[last], node_room, leaf_room);
}

/// A pair of counts that is added up as one.
struct Pair {
    int64_t nodes, leaves;
};
struct AddPairs {
    __device__ Pair operator()(const Pair& a, const Pair& b) const {
        return {a.nodes + b.nodes, a.leaves + b.leaves};
    }
};

/// Exclusive sums of the batch's counts, and the total behind them.
template <int per_thread>
__global__ void __launch_bounds__(threads)
    scan_all(WalkView view, WalkLists lists, int64_t node_room, int64_t leaf_room) {
    using Scan = cub::BlockScan<Pair, threads, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ Scan::TempStorage scratch;
    const int64_t count = groups_to_walk(view).count + 1;
    Pair carry{0, 0};
    for (int64_t base = 0; base < count; base += threads * per_thread) {
        Pair value[per_thread];
        const int64_t first = base + static_cast<int64_t>(threadIdx.x) * per_thread;
        for (int k = 0; k < per_thread; ++k)
            value[k] = first + k < count ? Pair{lists.node_offset[first + k], lists.leaf_offset[first + k]}
                                         : Pair{0, 0};
        Pair all;
        Scan(scratch).ExclusiveScan(value, value, Pair{0, 0}, AddPairs(), all);
        for (int k = 0; k < per_thread; ++k)
            if (first + k < count) {
                const Pair sum = AddPairs()(carry, value[k]);
                lists.node_offset[first + k] = sum.nodes, lists.leaf_offset[first + k] = sum.leaves;
            }
        carry = AddPairs()(carry, all);
        __syncthreads();
    }
    if (threadIdx.x == 0 && !backend::stopped(view.status))
        check_room(view, carry.nodes, carry.leaves, node_room, leaf_room);
}

} // namespace

void scan_counts(backend::Queue& queue, const WalkView& view, const WalkLists& lists, int64_t node_room,
                 int64_t leaf_room) {
    const int64_t count = group_room(view) + 1;
    ++queue.launches;
    if (count <= most_by_one_block) {
        const auto kernel = count <= few ? scan_all<2> : scan_all<8>;
        kernel<<<1, threads, 0, queue.stream()>>>(view, lists, node_room, leaf_room);
        GRAFT_CUDA_LAUNCHED("list offsets");
        return;
    }
    backend::exclusive_sum(queue, lists.node_offset, lists.node_offset, count);
    backend::exclusive_sum(queue, lists.leaf_offset, lists.leaf_offset, count);
    check_totals<<<1, 1, 0, queue.stream()>>>(view, lists, count - 1, node_room, leaf_room);
    GRAFT_CUDA_LAUNCHED("list capacities");
}

} // namespace graft::lists::device
