// SPDX-License-Identifier: BSD-3-Clause
// New places of the particles in a tree that keeps its nodes: sorted arrays and tight boxes, see
// tree_refresh_gpu.cuh.
//
// Boxes go up level by level, a launch each: leaves from their particles, inner nodes from their children.
// Bytes: 40 gathered a particle, 24 read again for the boxes.
#include "tree/tree_refresh_gpu.cuh"

#include <algorithm>
#include <limits>

namespace graft::tree {

namespace {

constexpr int threads = 128;

struct Sorted {
    double *x, *y, *z, *charge, *softening; // charge and softening may be null
};

__global__ void gather_particles(DeviceParticleView from, const int32_t* order, int64_t n, Sorted to,
                                 const backend::DeviceStatus* status) {
    const int64_t k = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (k >= n || backend::stopped(status))
        return;
    const int32_t i = order[k];
    to.x[k] = from.x[i], to.y[k] = from.y[i];
    to.z[k] = from.z != nullptr ? from.z[i] : 0.0;
    if (to.charge != nullptr)
        to.charge[k] = from.charge[i];
    if (to.softening != nullptr)
        to.softening[k] = from.softening[i];
}

struct Refresh {
    const int32_t* level_offset;
    const Node* nodes;
    const double *x, *y, *z;
    geometry::Box* boxes;
    const backend::DeviceStatus* status;
};

__global__ void __launch_bounds__(threads) bound_level(Refresh r, int level) {
    if (backend::stopped(r.status))
        return;
    const int32_t end = r.level_offset[level + 1], stride = static_cast<int32_t>(gridDim.x * blockDim.x);
    for (int32_t k = r.level_offset[level] + static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
         k < end; k += stride) {
        const Node node = r.nodes[k];
        geometry::Box box;
        for (int32_t c = 0; c < node.child_count; ++c)
            box.include(r.boxes[node.first_child + c]);
        if (node.child_count == 0)
            for (int64_t i = node.first; i < node.first + node.count; ++i)
                box.include(r.x[i], r.y[i], r.z[i]);
        r.boxes[k] = box;
    }
}

} // namespace

void refresh_tree(backend::Queue& queue, const DeviceParticleView& particles, int levels, DeviceTree& tree) {
    tree.options.leaf = std::numeric_limits<int>::max();
    if (tree.n == 0)
        return;
    DeviceParticleView from = particles;
    if (tree.options.dimension == 2)
        from.z = nullptr;
    gather_particles<<<backend::blocks_for(tree.n, threads), threads, 0, queue.stream()>>>(
        from, tree.order.data(), tree.n,
        {tree.x.data(), tree.y.data(), tree.z.data(), tree.charge.empty() ? nullptr : tree.charge.data(),
         tree.softening.empty() ? nullptr : tree.softening.data()},
        queue.status());
    GRAFT_CUDA_LAUNCHED("particles of a kept tree");
    const unsigned blocks = std::min(backend::blocks_for(tree.node_capacity(), threads),
                                     static_cast<unsigned>(8 * queue.multiprocessors()));
    for (int level = levels - 1; level >= 0; --level) {
        bound_level<<<blocks, threads, 0, queue.stream()>>>({tree.level_offset.data(), tree.nodes.data(),
                                                             tree.x.data(), tree.y.data(), tree.z.data(),
                                                             tree.boxes.data(), queue.status()},
                                                            level);
        GRAFT_CUDA_LAUNCHED("boxes of a kept tree");
    }
    queue.launches += 1 + levels;
}

} // namespace graft::tree
