// Moments of all nodes, one order: the kernels behind compute_moments; a file each order instantiates them.
//
// Every node by the host's bodies (node_moments.hpp), so every number has the host's bits. Leaves: a thread
// each. Inner nodes must follow their children; instead of a launch a level, inner nodes are sorted into
// tiers by their number of particles (up to 256, 32 times as many, ...). The nodes of one tier below a node
// of a higher one are a subtree that one warp (first tier) or block works off, level by level without leaving
// it; only tiers need launches. Within a node 8 lanes shift a child's moments each and then add one term
// each, in the children's order. Bytes: 32 a particle, about 100 + 8 terms a node.
#pragma once

#include "moments/device_moments.cuh"
#include "moments/node_moments.hpp"

namespace graft::moments {

namespace device {

inline constexpr int tiers = 6;
inline constexpr int lanes = 8; // of a node: as many as children at most
inline constexpr int tier_shift = 5;
inline constexpr int64_t first_tier = 256;

/// Most particles of a node of this tier.
GRAFT_HD constexpr int64_t tier_limit(int tier) {
    return first_tier << tier_shift * tier;
}

GRAFT_HD inline int tier_of(int64_t count) {
    int tier = 0;
    while (count > tier_limit(tier))
        ++tier;
    return tier;
}

/// Roots of the subtrees of each tier: lists one after the other, and how long each is.
struct Subtrees {
    int32_t* roots[tiers];
    int32_t* count;
};

struct Problem {
    TreeArrays tree;
    MomentArrays moments;
    Subtrees subtrees;
    const tree::DeviceTreeCounts* counts;
    const backend::DeviceStatus* status;
};

/// Enqueues all kernels for moments up to Order.
template <int Order>
void compute_order(backend::Queue& queue, const Problem& problem, int64_t n, int64_t node_capacity);

#ifdef __CUDACC__

/// Leaves' moments; inner nodes that start a subtree are listed.
template <int Order>
__global__ void __launch_bounds__(128) leaf_moments(const Problem p) {
    const int32_t node = static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
    if (backend::stopped(p.status) || node >= p.counts->nodes)
        return;
    const tree::Node known = p.tree.nodes[node];
    if (known.child_count > 0) {
        const int tier = tier_of(known.count);
        if (known.parent < 0 || tier_of(p.tree.nodes[known.parent].count) != tier)
            p.subtrees.roots[tier][atomicAdd(p.subtrees.count + tier, 1)] = node;
        return;
    }
    leaf_frame(p.tree, node, p.moments);
    p2m<Order>(p.tree, node, p.moments, p.moments.values + int64_t{node} * term_count(Order));
    if (p.tree.softening != nullptr)
        node_softening(p.tree, node, p.moments);
}

/// One inner node by `lanes` lanes; `scratch` holds their shifted moments.
template <int Order>
__device__ void inner_moments(const Problem& p, int32_t node, int lane, double (*scratch)[term_count(Order)],
                              unsigned mask) {
    constexpr int count = term_count(Order);
    const tree::Node known = p.tree.nodes[node];
    const Frame frame = inner_frame(p.tree, node, p.moments);
    const double inverse = 1 / length_scale(frame.radius);
    if (lane < known.child_count) {
        double child[count];
        shift_child<Order>(p.moments, known.first_child + lane, frame.c, inverse, child);
        for_terms<0, count>([&](auto t) { scratch[lane][t()] = child[t()]; });
    }
    __syncwarp(mask);
    for (int t = lane; t < count; t += lanes) {
        double sum = 0;
        for (int c = 0; c < known.child_count; ++c)
            sum += scratch[c][t];
        p.moments.values[int64_t{node} * count + t] = sum;
    }
    if (lane == 0)
        store_frame(frame, node, p.moments);
    if (lane == 0 && p.tree.softening != nullptr)
        node_softening(p.tree, node, p.moments);
    __syncwarp(mask);
}

/// A group of threads, a warp or a block, that works one subtree off.
template <bool block>
__device__ void sync_group() {
    if constexpr (block)
        __syncthreads();
    else
        __syncwarp();
}

template <bool block>
constexpr int list_capacity = block ? 3200 : static_cast<int>(first_tier);

template <int Order, bool block>
constexpr int group_threads = block ? (Order < 4 ? 128 : 64) : 32;

/// The subtree's nodes of this tier, by falling size: list[0 ... end). Levels are runs of it.
template <int Order, bool block>
__device__ void subtree_moments(const Problem& p, int tier, int32_t root, int32_t* list, int32_t* end,
                                double (*scratch)[term_count(Order)]) {
    constexpr int size = group_threads<Order, block>, step = size / lanes;
    const int thread = static_cast<int>(threadIdx.x) % size, lane = thread % lanes;
    const int64_t least = tier > 0 ? tier_limit(tier - 1) : 0;
    const unsigned mask = 0xffu << (thread % 32 / lanes * lanes);
    int32_t offset[100]; // of each level in the list
    int levels = 0, begin = 0;
    if (thread == 0) {
        list[0] = root;
        *end = 1;
    }
    sync_group<block>();
    for (int32_t stop = 1; begin < stop; stop = *end, sync_group<block>()) { // a level: its children follow
        offset[levels++] = begin;
        for (int k = begin + thread / lanes; k < stop; k += step) {
            const tree::Node node = p.tree.nodes[list[k]];
            const int32_t child = node.first_child + lane;
            if (lane < node.child_count && p.tree.nodes[child].child_count > 0 &&
                p.tree.nodes[child].count > least)
                list[atomicAdd(end, 1)] = child;
        }
        begin = stop;
        sync_group<block>();
    }
    for (int last = begin; levels > 0; last = offset[levels]) {
        --levels;
        for (int k = offset[levels] + thread / lanes; k < last; k += step)
            inner_moments<Order>(p, list[k], lane, scratch + thread / lanes * lanes, mask);
        sync_group<block>();
    }
}

template <int Order, bool block>
__global__ void __launch_bounds__(128) tier_moments(const Problem p, int tier) {
    constexpr int size = group_threads<Order, block>;
    constexpr int groups = block ? 1 : 4;
    __shared__ int32_t list[groups][list_capacity<block>];
    __shared__ int32_t end[groups];
    __shared__ double scratch[groups][size][term_count(Order)];
    if (backend::stopped(p.status))
        return;
    const int group = static_cast<int>(threadIdx.x) / size;
    const int32_t count = p.subtrees.count[tier];
    const int32_t stride = static_cast<int32_t>(gridDim.x) * groups;
    for (int32_t k = static_cast<int32_t>(blockIdx.x) * groups + group; k < count; k += stride)
        subtree_moments<Order, block>(p, tier, p.subtrees.roots[tier][k], list[group], end + group,
                                      scratch[group]);
}

template <int Order>
void compute_order(backend::Queue& queue, const Problem& problem, int64_t n, int64_t node_capacity) {
    leaf_moments<Order><<<backend::blocks_for(node_capacity, 128), 128, 0, queue.stream()>>>(problem);
    GRAFT_CUDA_LAUNCHED("leaf_moments");
    const unsigned blocks = static_cast<unsigned>(8 * queue.multiprocessors());
    tier_moments<Order, false><<<blocks, 128, 0, queue.stream()>>>(problem, 0);
    GRAFT_CUDA_LAUNCHED("tier_moments");
    queue.launches += 2;
    for (int tier = 1; tier < tiers && tier_limit(tier - 1) < n; ++tier, ++queue.launches) {
        tier_moments<Order, true><<<blocks, group_threads<Order, true>, 0, queue.stream()>>>(problem, tier);
        GRAFT_CUDA_LAUNCHED("tier_moments");
    }
}

#endif

} // namespace device

} // namespace graft::moments
