// SPDX-License-Identifier: BSD-3-Clause
// Roots, and boxes level by level, of the top-down constructions; see octree_top_down_gpu.cuh.
#include "tree/octree_top_down_gpu.cuh"

namespace graft::tree::device {

namespace {

__global__ void find_roots(const TopDown b) {
    const int32_t i = static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
    if (backend::stopped(b.status) || i >= b.n || (i > 0 && b.cells.level(b.keys[i - 1], b.keys[i]) >= 0))
        return;
    b.roots[1 + atomicAdd(b.roots, 1)] = i;
}

/// One block, a thread a root; they were found in any order.
__global__ void sort_roots(const TopDown b) {
    if (backend::stopped(b.status))
        return;
    __shared__ int32_t first[most_roots + 1];
    const int32_t count = b.roots[0], k = static_cast<int32_t>(threadIdx.x);
    int32_t rank = 0;
    for (int32_t other = 0; k < count && other < count; ++other)
        rank += b.roots[1 + other] < b.roots[1 + k];
    if (k < count)
        first[rank] = b.roots[1 + k];
    if (k == 0) {
        first[count] = b.n;
        b.level_offset[0] = 0;
        b.level_offset[1] = count;
        b.counts->nodes = count;
        b.counts->leaves = b.counts->levels = 0;
        if (count > b.capacity) {
            b.status->nodes_needed = 2 * int64_t{b.n};
            backend::stop_with(b.status, backend::too_small);
        }
    }
    __syncthreads();
    if (k < count && count <= b.capacity)
        b.nodes[k] = Node{0, 0, -1, 0, first[k], first[k + 1] - first[k]};
}

struct Bound {
    const double *x, *y, *z;
    geometry::Box* boxes;
};

__device__ geometry::Box bound(const TopDown& b, const Bound& to, const Node& node) {
    geometry::Box box;
    if (node.child_count == 0)
        for (int64_t i = node.first; i < node.first + node.count; ++i)
            box.include(to.x[i], to.y[i], to.z[i]);
    else
        for (int32_t k = node.first_child; k < node.first_child + node.child_count; ++k)
            box.include(to.boxes[k]);
    return box;
}

__global__ void bound_level(const TopDown b, const Bound to, int level) {
    if (backend::stopped(b.status) || level >= b.counts->levels)
        return;
    const int32_t end = b.level_offset[level + 1], stride = static_cast<int32_t>(gridDim.x * blockDim.x);
    for (int32_t k = b.level_offset[level] + static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
         k < end; k += stride) {
        const Node node = b.nodes[k];
        const geometry::Box box = bound(b, to, node);
        to.boxes[k] = box;
        b.edges[k] = cell_edge(b.counts->root_edge,
                               geometry::common_level(b.keys[node.first], b.keys[node.first + node.count - 1],
                                                      b.cells.dimension));
        if (node.child_count > 0)
            continue;
        atomicAdd(&b.counts->leaves, 1);
        if (node.count > b.leaf && box.longest_edge() >= smallest_edge)
            atomicAdd(reinterpret_cast<unsigned long long*>(&b.status->rekey), 1ull);
    }
}

__global__ void report(const TopDown b) {
    if (backend::stopped(b.status))
        return;
    b.status->nodes_needed = b.counts->nodes;
    b.status->leaves = b.counts->leaves;
    b.status->levels = b.counts->levels;
    if (b.status->rekey > 0)
        backend::stop_with(b.status, backend::deep_cell);
}

} // namespace

void write_roots(backend::Queue& queue, const TopDown& build) {
    GRAFT_CUDA(cudaMemsetAsync(build.roots, 0, sizeof(int32_t), queue.stream()));
    const int32_t boundaries = build.cells.ranged ? build.n : 1;
    find_roots<<<backend::blocks_for(boundaries, 256), 256, 0, queue.stream()>>>(build);
    GRAFT_CUDA_LAUNCHED("find_roots");
    sort_roots<<<1, most_roots, 0, queue.stream()>>>(build);
    GRAFT_CUDA_LAUNCHED("sort_roots");
    queue.launches += 2;
}

void bound_levels(backend::Queue& queue, const TopDown& build, DeviceTree& tree) {
    const Bound to{tree.x.data(), tree.y.data(), tree.z.data(), tree.boxes.data()};
    for (int level = build.cells.key_levels; level >= 0; --level, ++queue.launches) {
        bound_level<<<static_cast<unsigned>(4 * queue.multiprocessors()), 256, 0, queue.stream()>>>(build, to,
                                                                                                    level);
        GRAFT_CUDA_LAUNCHED("bound_level");
    }
    report<<<1, 1, 0, queue.stream()>>>(build);
    GRAFT_CUDA_LAUNCHED("report");
    ++queue.launches;
}

} // namespace graft::tree::device
