// SPDX-License-Identifier: BSD-3-Clause
// Targets without a key order of their own: points, and the targets of a k-d tree. They get an octree of
// their own with leaf = N_group, as on the host (targets.cpp), and its groups.
//
// That tree reports into the same status words as the tree of the sources, so those are put back afterwards;
// what the targets' tree needed goes to spare[0], where the next call reads it.
#include "lists/targets_steps_gpu.cuh"

#include <algorithm>

namespace graft::lists {

namespace device {

namespace {

constexpr int need_word = 0; // of DeviceStatus::spare: nodes of the targets' tree

__global__ void save_words(const backend::DeviceStatus* status, TreeWords* saved) {
    *saved = {status->nodes_needed, status->leaves, status->levels};
}

__global__ void restore_words(backend::DeviceStatus* status, const TreeWords* saved) {
    status->spare[need_word] = max(status->spare[need_word], status->nodes_needed);
    status->nodes_needed = saved->nodes_needed, status->leaves = saved->leaves,
    status->levels = saved->levels;
}

/// Places of the targets in the order of their own tree, and their origins.
__global__ void follow_order(const int32_t* own_order, const int32_t* place, const int32_t* tree_order,
                             int64_t n, const backend::DeviceStatus* status, int32_t* sorted_place,
                             int32_t* origin) {
    const int64_t t = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (t >= n || backend::stopped(status))
        return;
    const int32_t k = own_order[t];
    const int32_t p = place != nullptr ? place[k] : k;
    sorted_place[t] = p;
    origin[t] = tree_order[p];
}

void build_own(backend::Queue& queue, TargetBuffers& work, int dimension,
               const tree::DeviceParticleView& view, int group_size) {
    tree::TreeOptions options;
    options.dimension = dimension;
    options.leaf = group_size;
    const int64_t expected = 8 * (view.n / group_size) + 1024;
    const int64_t needed = queue.fetched_status().spare[need_word]; // of the last computation, if it is known
    if (std::max(expected, needed) > work.own.nodes.size())
        work.own.resize_nodes(std::max(expected, needed));
    work.words.resize(1);
    save_words<<<1, 1, 0, queue.stream()>>>(queue.status(), work.words.data());
    GRAFT_CUDA_LAUNCHED("words of the sources' tree");
    work.builder.build(queue, options, view, work.own);
    restore_words<<<1, 1, 0, queue.stream()>>>(queue.status(), work.words.data());
    GRAFT_CUDA_LAUNCHED("words of the sources' tree");
    queue.launches += 2;
}

/// The arrays of the targets' own tree are the targets'.
void use_own(const tree::DeviceTree& own, bool softened, DeviceTargets& targets) {
    targets.x = own.x.data(), targets.y = own.y.data(), targets.z = own.z.data();
    targets.softening = softened ? own.softening.data() : nullptr;
    targets.origin = own.order.data();
}

} // namespace

void sort_targets(backend::Queue& queue, TargetBuffers& work, const tree::DeviceTree& tree,
                  const int32_t* place, int group_size, DeviceTargets& targets) {
    const int64_t n = targets.n;
    const bool softened = !tree.softening.empty();
    tree::DeviceParticleView view{
        n, tree.x.data(), tree.y.data(), tree.z.data(), nullptr, softened ? tree.softening.data() : nullptr};
    if (place != nullptr) {
        gather_targets(queue, tree, place, targets);
        view = {n, targets.x, targets.y, targets.z, nullptr, targets.softening};
    }
    build_own(queue, work, tree.options.dimension, view, group_size);
    use_own(work.own, softened, targets);
    work.places.resize(n);
    targets.own_origin.resize(n);
    follow_order<<<backend::blocks_for(n, 256), 256, 0, queue.stream()>>>(
        work.own.order.data(), place, tree.order.data(), n, queue.status(), work.places.data(),
        targets.own_origin.data());
    GRAFT_CUDA_LAUNCHED("places of sorted targets");
    ++queue.launches;
    targets.own_place.resize(n);
    targets.own_place.swap(work.places);
    targets.origin = targets.own_origin.data();
    cut_targets(queue, work, cut_input(queue, work.own, nullptr, group_size), targets);
}

} // namespace device

void DeviceTargetMaker::set_points(backend::Queue& queue, int dimension, int64_t count, const double* x,
                                   const double* y, const double* z, const double* softening, int group_size,
                                   DeviceTargets& targets) {
    check_group_size(group_size);
    targets.n = count;
    targets.own_place.resize(0);
    device::build_own(queue, *work_, dimension, {count, x, y, z, nullptr, softening}, group_size);
    device::use_own(work_->own, softening != nullptr, targets);
    device::cut_targets(queue, *work_, device::cut_input(queue, work_->own, nullptr, group_size), targets);
}

} // namespace graft::lists
