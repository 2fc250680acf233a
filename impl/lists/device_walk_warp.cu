// A warp per group: 32 nodes of the frontier are tested at once; the frontier is a stack in shared memory.
//
// Floors at Plummer 1e6 (error MAC 1e-3, 2.2e4 groups, 1.9e7 entries): 76 MB of entries written, 0.02 ms;
// about 2.2e7 nodes looked at, 32 a step of about 150 instructions: 1.0e8 slots, 0.11 ms a pass.
#include "lists/device_walk.cuh"

namespace graft::lists::device {

namespace {

constexpr int warps = 4;             // a block
constexpr int stack_capacity = 1024; // > 7 * max_device_levels + 32 * 7

__device__ inline int32_t popcount_below(uint32_t mask, uint32_t lanes_below) {
    return __popc(mask & lanes_below);
}

/// Sum of `count` (0 ... 8) over the lanes below, and over all, from its bits.
__device__ inline int32_t children_below(int32_t count, uint32_t lanes_below, int32_t& all) {
    int32_t below = 0;
    all = 0;
#pragma unroll
    for (int bit = 0; bit < 4; ++bit) {
        const uint32_t mask = __ballot_sync(~0u, count >> bit & 1);
        below += popcount_below(mask, lanes_below) << bit;
        all += __popc(mask) << bit;
    }
    return below;
}

template <bool counting, bool compact>
__global__ void __launch_bounds__(32 * warps) walk(WalkView view, WalkLists lists) {
    __shared__ int32_t stacks[warps][stack_capacity];
    if (backend::stopped(view.status))
        return;
    const BatchRange range = batch_range(view);
    const int64_t g = static_cast<int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
    if (g >= range.count || view.counts->nodes == 0)
        return;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const uint32_t lanes_below = (1u << lane) - 1;
    int32_t* stack = stacks[threadIdx.x / 32];
    const Target target = view.groups[range.begin + g].target;
    const int32_t reserve = stack_reserve(view);
    int32_t* nodes = counting ? nullptr : lists.nodes + lists.node_offset[g];
    int32_t* leaves = counting ? nullptr : lists.leaves + lists.leaf_offset[g];
    int32_t node_count = 0, leaf_count = 0, top = 1;
    if (lane == 0)
        stack[0] = view.root;
    __syncwarp();
    while (top > 0) {
        const int32_t take = nodes_to_take(top, stack_capacity, reserve, view.most_children - 1, 32);
        top -= take;
        int32_t node = 0;
        Verdict verdict{false, false, 0, 0};
        if (lane < take) {
            node = stack[top + lane];
            verdict = judge<compact>(view, target, node);
        }
        const uint32_t accepted = __ballot_sync(~0u, verdict.accepted);
        const uint32_t leaf = __ballot_sync(~0u, verdict.leaf);
        if (!counting) {
            if (verdict.accepted)
                nodes[node_count + popcount_below(accepted, lanes_below)] = node;
            if (verdict.leaf)
                leaves[leaf_count + popcount_below(leaf, lanes_below)] = node;
        }
        node_count += __popc(accepted);
        leaf_count += __popc(leaf);
        int32_t opened = 0;
        int32_t* place = stack + top + children_below(verdict.child_count, lanes_below, opened);
        for (int32_t c = 0; c < verdict.child_count; ++c)
            place[c] = verdict.first_child + c;
        top += opened;
        __syncwarp();
    }
    if (counting && lane == 0) {
        lists.node_offset[g] = node_count;
        lists.leaf_offset[g] = leaf_count;
    }
}

} // namespace

void walk_warps(backend::Queue& queue, const WalkView& view, const WalkLists& lists, bool counting) {
    const int64_t groups = view.group_capacity / view.batches + 1;
    const unsigned blocks = backend::blocks_for(groups, warps);
    const auto kernel = counting ? (view.compact ? walk<true, true> : walk<true, false>)
                                 : (view.compact ? walk<false, true> : walk<false, false>);
    kernel<<<blocks, 32 * warps, 0, queue.stream()>>>(view, lists);
    GRAFT_CUDA_LAUNCHED("walk, a warp per group");
    ++queue.launches;
}

} // namespace graft::lists::device
