// SPDX-License-Identifier: BSD-3-Clause
// Moments of all nodes, one order: the kernels behind compute_moments; a file each order instantiates them.
//
// Every node by the host's bodies (p2m_m2m.hpp), so every number has the host's bits. Leaves: a thread
// each, whose particles the warp has read for it. Inner nodes must follow their children: 8 lanes begin at
// each inner node that has only leaves below it, and go on to the parent when they are the last to finish one
// of its children; nobody waits. Within a node each lane shifts one child's moments, then adds up one term,
// in the children's order. Bytes: 32 a particle, about 100 + 8 terms a node; the time of the way up is that
// of the longest chain of parents.
#pragma once

#include "moments/moments_gpu.cuh"
#include "moments/p2m_m2m.hpp"

#ifdef __CUDACC__
#include "tree/tree_rows_gpu.cuh"

#include <cuda/atomic>
#endif

namespace graft::moments {

namespace device {

inline constexpr int lanes = 8; // of a node: as many as children at most

struct MomentsInput {
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
void compute_order(backend::Queue& queue, const MomentsInput& problem, int64_t node_capacity);

#ifdef __CUDACC__

/// Moments of a leaf from its particles where `near` has them.
template <int Order>
__device__ void one_leaf(const MomentsInput& p, const TreeArrays& near, int32_t node) {
    leaf_frame(near, node, p.moments);
    p2m<Order>(near, node, p.moments, p.moments.values + int64_t{node} * term_count(Order));
    if (p.tree.softening != nullptr)
        node_softening(p.tree, node, p.moments);
}

/// Leaves' moments; inner nodes tell their parents to wait for them.
template <int Order>
__global__ void __launch_bounds__(128) leaf_moments(const MomentsInput p) {
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
__global__ void __launch_bounds__(32) leaf_moments_in_rows(const MomentsInput p) {
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
    double share[4][lanes], spread[lanes]; // of each child in the node's
    double shifted[lanes][term_count(Order)];
};

/// One child, a lane; zeros where there is none, which change no sum.
struct Child {
    double magnitude = 0, c[3] = {0, 0, 0}, radius = 0, spread = 0;
};

__device__ inline double sum_in_order(const double (&values)[lanes]) {
    double sum = 0;
#pragma unroll
    for (int k = 0; k < lanes; ++k)
        sum += values[k];
    return sum;
}

/// As inner_frame, each lane for its child: the same numbers, and sums in the children's order.
template <int Order>
__device__ Frame shared_frame(const geometry::Box& box, const Child& child, bool there, int lane,
                              Shared<Order>& shared, unsigned mask) {
    shared.share[0][lane] = child.magnitude;
#pragma unroll
    for (int a = 0; a < 3; ++a)
        shared.share[1 + a][lane] = child.magnitude * (child.c[a] - box.centre(a));
    __syncwarp(mask);
    const double sum = sum_in_order(shared.share[lane % 4]);
    Frame frame;
    frame.magnitude = __shfl_sync(mask, sum, 0, lanes);
    double lower = box.lower[0], upper = box.upper[0], origin = box.centre(0);
#pragma unroll
    for (int a = 1; a < 3; ++a)
        if (lane == 1 + a) // lanes 1 to 3 have the sums of x, y, z
            lower = box.lower[a], upper = box.upper[a], origin = box.centre(a);
    const double c = centre_of(origin, sum, frame.magnitude, lower, upper);
    for (int a = 0; a < 3; ++a)
        frame.c[a] = __shfl_sync(mask, c, 1 + a, lanes);
    const double x = child.c[0] - frame.c[0], y = child.c[1] - frame.c[1], z = child.c[2] - frame.c[2];
    const double d2 = x * x + y * y + z * z;
    double reach = there ? std::sqrt(d2) + child.radius : 0;
    shared.spread[lane] = there ? child.spread + child.magnitude * d2 : 0;
    for (int step = 1; step < lanes; step *= 2)
        reach = geometry::larger(reach, __shfl_xor_sync(mask, reach, step, lanes));
    __syncwarp(mask);
    frame.spread = sum_in_order(shared.spread);
    frame.radius = geometry::smaller(reach, box.furthest(frame.c)) * (1 + 1e-15);
    return frame;
}

/// One inner node by `lanes` lanes.
template <int Order>
__device__ void inner_moments(const MomentsInput& p, int32_t node, const tree::Node& known,
                              const geometry::Box& box, int lane, Shared<Order>& shared, unsigned mask) {
    constexpr int count = term_count(Order);
    const MomentArrays& m = p.moments;
    const int32_t k = known.first_child + lane;
    const bool there = lane < known.child_count;
    double given[count] = {}, rho = 1;
    Child child;
    if (there) {
        child = {m.magnitude[k], {m.cx[k], m.cy[k], m.cz[k]}, m.radius[k], m.spread[k]};
        rho = m.rho[k];
        for_terms<0, count>([&](auto t) { given[t()] = m.values[int64_t{k} * count + t()]; });
    }
    const Frame frame = shared_frame(box, child, there, lane, shared, mask);
    double shifted[count];
    shift_child<Order>(given, rho, child.c[0] - frame.c[0], child.c[1] - frame.c[1], child.c[2] - frame.c[2],
                       1 / length_scale(frame.radius), shifted);
    for_terms<0, count>([&](auto t) { shared.shifted[lane][t()] = there ? shifted[t()] : 0; });
    __syncwarp(mask);
    for (int t = lane; t < count; t += lanes) {
        double sum = 0;
#pragma unroll
        for (int c = 0; c < lanes; ++c)
            sum += shared.shifted[c][t];
        m.values[int64_t{node} * count + t] = sum;
    }
    if (lane == 0)
        store_frame(frame, node, m);
    if (lane == 1 && p.tree.softening != nullptr)
        node_softening(p.tree, node, m);
}

/// Whether all inner children of the parent are done now; the same answer in all lanes.
__device__ inline bool last_to_finish(const MomentsInput& p, int32_t parent, int32_t expected, int lane,
                                      unsigned mask) {
    constexpr auto order = cuda::memory_order_acq_rel;
    int32_t others = 0;
    cuda::atomic_thread_fence(order, cuda::thread_scope_device); // every lane's numbers before the count
    __syncwarp(mask);
    if (lane == 0)
        others = atomicAdd(p.finished + parent, 1);
    others = __shfl_sync(mask, others, 0, lanes);
    if (others != expected - 1)
        return false;
    cuda::atomic_thread_fence(order, cuda::thread_scope_device); // and the others' numbers after it
    return true;
}

/// Upwards from inner node `first`, as long as this is the last child to come. What is known of a parent is
/// read before its child's moments are made, to be there when they are.
template <int Order>
__device__ void climb(const MomentsInput& p, int32_t first, int lane, Shared<Order>& shared, unsigned mask) {
    tree::Node known = p.tree.nodes[first];
    geometry::Box box = p.tree.boxes[first];
    for (int32_t node = first;;) {
        const int32_t parent = known.parent, there = parent >= 0 ? parent : node;
        const tree::Node above = p.tree.nodes[there];
        const geometry::Box above_box = p.tree.boxes[there];
        const int32_t expected = p.inner_children[there];
        inner_moments<Order>(p, node, known, box, lane, shared, mask);
        if (parent < 0 || !last_to_finish(p, parent, expected, lane, mask))
            break;
        node = parent, known = above, box = above_box;
    }
}

/// A warp looks at so many nodes, a lane each, for inner ones with leaves alone below them (one in nine or
/// fewer): 4, so that all go up together, or 32 where there are more warps than fit anyway.
template <int Order>
__global__ void __launch_bounds__(64) inner_nodes(const MomentsInput p, int nodes_a_warp) {
    __shared__ Shared<Order> shared[64 / lanes];
    if (backend::stopped(p.status))
        return;
    const int in_warp = static_cast<int>(threadIdx.x) % 32, lane = in_warp % lanes, octet = in_warp / lanes;
    const int64_t first = (int64_t{blockIdx.x} * 2 + threadIdx.x / 32) * nodes_a_warp, k = first + in_warp;
    const bool begins = in_warp < nodes_a_warp && k < p.counts->nodes && p.tree.nodes[k].child_count > 0 &&
                        p.inner_children[k] == 0;
    const unsigned found = __ballot_sync(~0u, begins);
    const unsigned mask = 0xffu << (octet * lanes);
    for (int i = octet; i < __popc(found); i += 32 / lanes) {
        const auto bit = static_cast<int32_t>(__fns(found, 0, i + 1));
        climb<Order>(p, static_cast<int32_t>(first) + bit, lane, shared[threadIdx.x / lanes], mask);
    }
}

template <int Order>
void compute_order(backend::Queue& queue, const MomentsInput& problem, int64_t node_capacity) {
    if (problem.leaf <= tree::device::most_in_row)
        leaf_moments_in_rows<Order>
            <<<backend::blocks_for(node_capacity, 32), 32, 0, queue.stream()>>>(problem);
    else
        leaf_moments<Order><<<backend::blocks_for(node_capacity, 128), 128, 0, queue.stream()>>>(problem);
    GRAFT_CUDA_LAUNCHED("leaf_moments");
    constexpr int64_t many_nodes = int64_t{1} << 18;
    const int nodes_a_warp = node_capacity >= many_nodes ? 32 : 4;
    inner_nodes<Order><<<backend::blocks_for(node_capacity, 2 * nodes_a_warp), 64, 0, queue.stream()>>>(
        problem, nodes_a_warp);
    GRAFT_CUDA_LAUNCHED("inner_nodes");
    queue.launches += 2;
}

#endif

} // namespace device

} // namespace graft::moments
