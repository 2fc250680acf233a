// SPDX-License-Identifier: BSD-3-Clause
// gaburov2010's walk (section 3.2.2, list 3.1): a thread per group, depth first, a pass that counts and one
// that fills; the measured baseline.
//
// His cells are two 128-bit words in single precision; the host's bits need three. A thread's stack is in
// local memory, interleaved by the hardware as his.
#include "lists/walk_gpu.cuh"

namespace graft::lists::device {

namespace {

constexpr int threads = 64;
constexpr int stack_capacity = 7 * (tree::max_device_levels + 2);

template <bool counting, bool plain>
__global__ void __launch_bounds__(threads) walk(WalkView view, WalkLists lists) {
    const BatchRange range = groups_to_walk(view);
    const int64_t block_first = static_cast<int64_t>(blockIdx.x) * threads;
    if (counting)
        clear_counts(view, lists, range.count, block_first, threads);
    const int64_t g = block_first + threadIdx.x;
    if (g >= range.count)
        return;
    const Target target = view.groups[range.begin + g].target;
    int32_t* nodes = counting ? nullptr : lists.nodes + lists.node_offset[g];
    int32_t* leaves = counting ? nullptr : lists.leaves + lists.leaf_offset[g];
    int64_t node_count = 0, leaf_count = 0;
    int32_t stack[stack_capacity];
    int32_t top = 0;
    stack[top++] = view.root;
    while (top > 0) {
        const int32_t node = stack[--top];
        const Verdict verdict = judge<plain>(view, target, node);
        if (verdict.accepted) {
            if (!counting)
                nodes[node_count] = node;
            ++node_count;
        } else if (verdict.link == 0) {
            if (!counting)
                leaves[leaf_count] = node;
            ++leaf_count;
        } else {
            const auto first = static_cast<int32_t>(verdict.link >> 3);
            for (auto c = static_cast<int32_t>(verdict.link & 7); c >= 0; --c)
                stack[top++] = first + c;
        }
    }
    if (counting) {
        lists.node_offset[g] = node_count;
        lists.leaf_offset[g] = leaf_count;
    }
}

} // namespace

void walk_threads(backend::Queue& queue, const WalkView& view, const WalkLists& lists, bool counting) {
    const int64_t groups = group_room(view) + 1;
    const unsigned blocks = backend::blocks_for(groups, threads);
    const auto kernel = counting ? (view.plain() ? walk<true, true> : walk<true, false>)
                                 : (view.plain() ? walk<false, true> : walk<false, false>);
    kernel<<<blocks, threads, 0, queue.stream()>>>(view, lists);
    GRAFT_CUDA_LAUNCHED("walk, a thread per group");
    ++queue.launches;
}

} // namespace graft::lists::device
