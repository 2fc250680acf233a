// SPDX-License-Identifier: BSD-3-Clause
// Octree nodes top down in two phases ("two_phase"), thuering2023 section 4.1.2 (figures 4.2 and 4.3): one
// block makes the top of the tree down to a given depth; then every subtree is made by a block of its own.
//
// His bodies are inserted one by one under locks; here they are sorted, so that a node is a range of keys and
// a block splits a level of its subtree at once. Nodes come into being in any order, a level of a subtree in
// one piece; one sort by (level, first particle) puts them into level order. The sort is what his design
// needs and the fused construction does without.
#include "tree/octree_top_down_gpu.cuh"

#include "backend/primitives_gpu.cuh"

#include <algorithm>
#include <iterator>

namespace graft::tree {

namespace {

using device::TopDown;

constexpr int threads = 256; // of kernels that put nodes into order

/// The children of nodes [begin, end), in one piece; the block's next level. Empty where there is no room.
template <int size>
__device__ int2 grow(const TopDown& b, int2 level) {
    __shared__ int32_t place;
    const int32_t children = device::count_children<size>(b, level.x, level.y);
    if (children == 0)
        return {0, 0};
    if (threadIdx.x == 0) {
        place = atomicAdd(&b.counts->nodes, children);
        if (int64_t{place} + children > b.capacity) {
            const int64_t likely = 2 * (int64_t{place} + children), most = 2 * int64_t{b.n};
            atomicMax(reinterpret_cast<long long*>(&b.status->nodes_needed),
                      static_cast<long long>(likely < most ? likely : most));
            backend::stop_with(b.status, backend::too_small);
        }
    }
    __syncthreads();
    const int32_t begin = place;
    __syncthreads();
    if (int64_t{begin} + children > b.capacity)
        return {0, 0};
    device::write_level<size>(b, level.x, level.y, begin);
    __syncthreads();
    return {begin, begin + children};
}

/// The top; the nodes of its last level to subtrees[0], subtrees[1].
template <int size>
__global__ void __launch_bounds__(size) make_top(const TopDown b, int depth, int32_t* subtrees) {
    if (backend::stopped(b.status))
        return;
    int2 level = {0, b.level_offset[1]};
    for (int d = 0; d < depth && level.x < level.y; ++d)
        level = grow<size>(b, level);
    if (threadIdx.x == 0) {
        subtrees[0] = level.x;
        subtrees[1] = level.y;
    }
}

template <int size>
__global__ void __launch_bounds__(size) make_subtrees(const TopDown b, const int32_t* subtrees) {
    // One block that stops for lack of room does not stop others: all leave at their own end.
    if (subtrees[2] != 0)
        return;
    const int32_t end = subtrees[1];
    for (int32_t root = subtrees[0] + static_cast<int32_t>(blockIdx.x); root < end;
         root += static_cast<int32_t>(gridDim.x))
        for (int2 level = {root, root + 1}; level.x < level.y;)
            level = grow<size>(b, level);
}

/// Whether the subtrees must not be made: a word of their own, since blocks that make them may stop, too.
__global__ void note_stop(const TopDown b, int32_t* subtrees) {
    subtrees[2] = backend::stopped(b.status);
}

__global__ void make_order_keys(const TopDown b, uint64_t* keys, int32_t* index) {
    const int32_t i = static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= b.capacity)
        return;
    const bool exists = !backend::stopped(b.status) && i < b.counts->nodes;
    keys[i] = exists ? static_cast<uint64_t>(b.nodes[i].level) << 32 | static_cast<uint64_t>(b.nodes[i].first)
                     : ~uint64_t{0};
    index[i] = i;
}

/// Where each node goes, and where levels begin.
__global__ void place_nodes(const TopDown b, const uint64_t* keys, const int32_t* index, int32_t* place) {
    const int32_t i = static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
    if (backend::stopped(b.status) || i >= b.counts->nodes)
        return;
    place[index[i]] = i;
    const int32_t level = static_cast<int32_t>(keys[i] >> 32);
    if (i == 0 || static_cast<int32_t>(keys[i - 1] >> 32) != level)
        b.level_offset[level] = i;
    if (i == b.counts->nodes - 1) {
        b.level_offset[level + 1] = i + 1;
        b.counts->levels = level + 1;
    }
}

__global__ void copy_nodes(const TopDown b, const int32_t* index, const int32_t* place, Node* to) {
    const int32_t i = static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
    if (backend::stopped(b.status) || i >= b.counts->nodes)
        return;
    Node node = b.nodes[index[i]];
    node.parent = node.parent < 0 ? -1 : place[node.parent];
    node.first_child = node.child_count > 0 ? place[node.first_child] : 0;
    to[i] = node;
}

/// run.operator()<size>() for a size of TwoPhase::block_sizes.
template <size_t k = 0, typename Run>
void with_block_size(int size, const Run& run) {
    if constexpr (k < std::size(TwoPhase::block_sizes)) {
        if (size == TwoPhase::block_sizes[k])
            run.template operator()<TwoPhase::block_sizes[k]>();
        else
            with_block_size<k + 1>(size, run);
    }
}

} // namespace

void DeviceTreeBuilder::Work::order_draft(backend::Queue& queue, const device::TopDown& build,
                                          DeviceTree& tree) {
    const int64_t capacity = tree.node_capacity();
    for (auto* buffer : {&draft.keys, &draft.keys_sorted})
        buffer->resize(capacity);
    for (auto* buffer : {&draft.index, &draft.index_sorted, &draft.place})
        buffer->resize(capacity);
    const unsigned blocks = backend::blocks_for(capacity, threads);
    make_order_keys<<<blocks, threads, 0, queue.stream()>>>(build, draft.keys.data(), draft.index.data());
    GRAFT_CUDA_LAUNCHED("make_order_keys");
    backend::sort_pairs(queue, draft.keys.data(), draft.keys_sorted.data(), draft.index.data(),
                        draft.index_sorted.data(), capacity, 0, 32 + 6);
    place_nodes<<<blocks, threads, 0, queue.stream()>>>(build, draft.keys_sorted.data(),
                                                        draft.index_sorted.data(), draft.place.data());
    GRAFT_CUDA_LAUNCHED("place_nodes");
    copy_nodes<<<blocks, threads, 0, queue.stream()>>>(build, draft.index_sorted.data(), draft.place.data(),
                                                       tree.nodes.data());
    GRAFT_CUDA_LAUNCHED("copy_nodes");
    queue.launches += 3;
}

void DeviceTreeBuilder::Work::make_nodes_in_two_phases(backend::Queue& queue, DeviceTree& tree,
                                                       const TwoPhase& how) {
    const auto mark = [&](int which) {
        if (how.marks != nullptr)
            GRAFT_CUDA(cudaEventRecord(how.marks[which], queue.stream()));
    };
    roots.resize(device::most_roots + 1);
    subtrees.resize(3);
    draft.nodes.resize(tree.node_capacity());
    TopDown build{device::Cells(tree.options),
                  tree.options.leaf,
                  static_cast<int32_t>(tree.n),
                  tree.node_capacity(),
                  tree.keys.data(),
                  draft.nodes.data(),
                  tree.edges.data(),
                  tree.level_offset.data(),
                  roots.data(),
                  nullptr,
                  tree.counts.data(),
                  queue.status()};
    device::write_roots(queue, build);
    mark(0);
    with_block_size(how.top_threads, [&]<int size>() {
        make_top<size><<<1, size, 0, queue.stream()>>>(build, how.top_depth, subtrees.data());
        GRAFT_CUDA_LAUNCHED("make_top");
    });
    mark(1);
    note_stop<<<1, 1, 0, queue.stream()>>>(build, subtrees.data());
    GRAFT_CUDA_LAUNCHED("note_stop");
    with_block_size(
        how.subtree_threads, [&]<int size>() { // 2,048 threads a multiprocessor, at most 32 blocks
            const auto blocks = static_cast<unsigned>(std::min(2048 / size, 32) * queue.multiprocessors());
            make_subtrees<size><<<blocks, size, 0, queue.stream()>>>(build, subtrees.data());
            GRAFT_CUDA_LAUNCHED("make_subtrees");
        });
    mark(2);
    queue.launches += 3;
    order_draft(queue, build, tree);
    join_beside(queue);
    build.nodes = tree.nodes.data();
    device::bound_levels(queue, build, tree);
}

} // namespace graft::tree
