// Moments of all nodes, one order: the kernels behind compute_moments; a file each order instantiates them.
//
// Every node by the host's bodies (node_moments.hpp), so every number has the host's bits. Leaves: a thread
// each, whose particles the warp has read for it. Inner nodes must follow their children: 8 lanes begin at
// each inner node that has only leaves below it, and go on to the parent when they are the last to finish one
// of its children; nobody waits. Within a node each lane shifts one child's moments, then adds up one term,
// in the children's order. Bytes: 32 a particle, about 100 + 8 terms a node; the time of the way up is that
// of the longest chain of parents.
#pragma once

#include "moments/device_moments.cuh"
#include "moments/node_moments.hpp"

#ifdef __CUDACC__
#include "tree/device_rows.cuh"
#endif

namespace graft::moments {

namespace device {

inline constexpr int lanes = 8; // of a node: as many as children at most

struct Problem {
    TreeArrays tree;
    MomentArrays moments;
    int32_t* inner_children; // of each node; zero before
    int32_t* finished;       // those done; zero before
    const tree::DeviceTreeCounts* counts;
    const backend::DeviceStatus* status;
    int32_t leaf; // most particles of a leaf, but for heaps
};

/// Enqueues all kernels for moments up to Order.
template <int Order>
void compute_order(backend::Queue& queue, const Problem& problem, int64_t node_capacity);

#ifdef __CUDACC__

/// Moments of a leaf from its particles where `near` has them.
template <int Order>
__device__ void one_leaf(const Problem& p, const TreeArrays& near, int32_t node) {
    leaf_frame(near, node, p.moments);
    p2m<Order>(near, node, p.moments, p.moments.values + int64_t{node} * term_count(Order));
    if (p.tree.softening != nullptr)
        node_softening(p.tree, node, p.moments);
}

/// Leaves' moments; inner nodes tell their parents to wait for them.
template <int Order>
__global__ void __launch_bounds__(128) leaf_moments(const Problem p) {
    const int32_t node = static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
    if (backend::stopped(p.status) || node >= p.counts->nodes)
        return;
    const tree::Node known = p.tree.nodes[node];
    if (known.child_count == 0)
        one_leaf<Order>(p, p.tree, node);
    else if (known.parent >= 0)
        atomicAdd(p.inner_children + known.parent, 1);
}

/// The same where leaves are short: the warp, which is the block, reads those of its 32 nodes first. What
/// finds no room, and heaps of coincident particles, are read from memory by their own thread.
template <int Order>
__global__ void __launch_bounds__(32) leaf_moments_in_rows(const Problem p) {
    __shared__ tree::device::LeafRows<4> rows;
    const int32_t node = static_cast<int32_t>(blockIdx.x * 32 + threadIdx.x);
    if (backend::stopped(p.status) || static_cast<int32_t>(blockIdx.x * 32) >= p.counts->nodes)
        return;
    const bool there = node < p.counts->nodes;
    const tree::Node known = there ? p.tree.nodes[node] : tree::Node{};
    const bool leaf = there && known.child_count == 0;
    TreeArrays near = p.tree;
    const int32_t row = rows.read({near.x, near.y, near.z, near.charge}, known.first, leaf ? known.count : 0);
    if (there && !leaf && known.parent >= 0)
        atomicAdd(p.inner_children + known.parent, 1);
    if (row >= 0)
        near.x = rows.column(0, row, known.first), near.y = rows.column(1, row, known.first),
        near.z = rows.column(2, row, known.first), near.charge = rows.column(3, row, known.first);
    if (leaf)
        one_leaf<Order>(p, near, node);
}

/// What the lanes of one node tell each other.
template <int Order>
struct Shared {
    double magnitude_[lanes], x_[lanes], y_[lanes], z_[lanes], radius_[lanes], spread_[lanes];
    double shifted[lanes][term_count(Order)];
    __device__ double magnitude(int32_t k) const { return magnitude_[k]; }
    __device__ double x(int32_t k) const { return x_[k]; }
    __device__ double y(int32_t k) const { return y_[k]; }
    __device__ double z(int32_t k) const { return z_[k]; }
    __device__ double radius(int32_t k) const { return radius_[k]; }
    __device__ double spread(int32_t k) const { return spread_[k]; }
};

/// One inner node by `lanes` lanes.
template <int Order>
__device__ void inner_moments(const Problem& p, int32_t node, const tree::Node& known, int lane,
                              Shared<Order>& shared, unsigned mask) {
    constexpr int count = term_count(Order);
    const MomentArrays& m = p.moments;
    const int32_t child = known.first_child + lane;
    double given[count] = {}, rho = 1;
    if (lane < known.child_count) {
        shared.magnitude_[lane] = m.magnitude[child];
        shared.x_[lane] = m.cx[child], shared.y_[lane] = m.cy[child], shared.z_[lane] = m.cz[child];
        shared.radius_[lane] = m.radius[child], shared.spread_[lane] = m.spread[child];
        rho = m.rho[child];
        for_terms<0, count>([&](auto t) { given[t()] = m.values[int64_t{child} * count + t()]; });
    }
    const geometry::Box box = p.tree.boxes[node];
    __syncwarp(mask);
    const Frame frame = inner_frame(box, known.child_count, shared);
    if (lane < known.child_count) {
        double shifted[count];
        shift_child<Order>(given, rho, shared.x_[lane] - frame.c[0], shared.y_[lane] - frame.c[1],
                           shared.z_[lane] - frame.c[2], 1 / length_scale(frame.radius), shifted);
        for_terms<0, count>([&](auto t) { shared.shifted[lane][t()] = shifted[t()]; });
    }
    __syncwarp(mask);
    for (int t = lane; t < count; t += lanes) {
        double sum = 0;
        for (int c = 0; c < known.child_count; ++c)
            sum += shared.shifted[c][t];
        m.values[int64_t{node} * count + t] = sum;
    }
    if (lane == 0)
        store_frame(frame, node, m);
    if (lane == 1 && p.tree.softening != nullptr)
        node_softening(p.tree, node, m);
}

/// The parent, if its inner children are all done now; else -1. The same answer in all lanes.
__device__ inline int32_t last_to_finish(const Problem& p, int32_t parent, int lane, unsigned mask) {
    if (parent < 0)
        return -1;
    int32_t others = 0;
    const int32_t expected = p.inner_children[parent];
    __threadfence(); // every lane's numbers before the count
    __syncwarp(mask);
    if (lane == 0)
        others = atomicAdd(p.finished + parent, 1);
    others = __shfl_sync(mask, others, 0, lanes);
    if (others != expected - 1)
        return -1;
    __threadfence(); // and the others' numbers after it
    return parent;
}

template <int Order>
__global__ void __launch_bounds__(64) inner_nodes(const Problem p) {
    __shared__ Shared<Order> shared[64 / lanes];
    if (backend::stopped(p.status))
        return;
    const int32_t stride = static_cast<int32_t>(gridDim.x * blockDim.x) / lanes;
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const unsigned mask = 0xffu << (threadIdx.x % 32 / lanes * lanes);
    for (int32_t k = static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x) / lanes; k < p.counts->nodes;
         k += stride) {
        tree::Node known = p.tree.nodes[k];
        if (known.child_count == 0 || p.inner_children[k] > 0)
            continue;
        for (int32_t node = k; node >= 0;) {
            inner_moments<Order>(p, node, known, lane, shared[threadIdx.x / lanes], mask);
            node = last_to_finish(p, known.parent, lane, mask);
            if (node >= 0)
                known = p.tree.nodes[node];
        }
    }
}

template <int Order>
void compute_order(backend::Queue& queue, const Problem& problem, int64_t node_capacity) {
    if (problem.leaf <= tree::device::most_in_row)
        leaf_moments_in_rows<Order>
            <<<backend::blocks_for(node_capacity, 32), 32, 0, queue.stream()>>>(problem);
    else
        leaf_moments<Order><<<backend::blocks_for(node_capacity, 128), 128, 0, queue.stream()>>>(problem);
    GRAFT_CUDA_LAUNCHED("leaf_moments");
    inner_nodes<Order><<<backend::blocks_for(node_capacity, 64 / lanes), 64, 0, queue.stream()>>>(problem);
    GRAFT_CUDA_LAUNCHED("inner_nodes");
    queue.launches += 2;
}

#endif

} // namespace device

} // namespace graft::moments
