// SPDX-License-Identifier: BSD-3-Clause
// Targets on the device: which particles, in which order, in which groups. See groups_gpu.cuh for the cut.
//
// Floors at 1e6 particles, all targets: positions read once for the boxes 24 MB, marks written and read 2 MB:
// 0.007 ms.
#include "lists/targets_steps_gpu.cuh"

#include "backend/primitives_gpu.cuh"

#include <algorithm>

namespace graft::lists {

namespace device {

namespace {

/// flag[p]: the particle at tree place p is a target; one more entry, so that the scan has the total. None is
/// where the computation has stopped: there may be fewer targets than were announced.
__global__ void flag_active(const uint8_t* active, const int32_t* order, int64_t n,
                            const backend::DeviceStatus* status, int32_t* flag) {
    const int64_t p = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (p <= n)
        flag[p] = p < n && !backend::stopped(status) && active[order[p]] != 0 ? 1 : 0;
}

__global__ void list_places(const int32_t* before, int64_t n, int64_t count, int32_t* place) {
    const int64_t p = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (p < n && before[p] < before[p + 1] && before[p] < count)
        place[before[p]] = static_cast<int32_t>(p);
}

struct TargetArrays {
    double *x, *y, *z, *softening;
    int32_t* origin;
};

__global__ void gather_places(const int32_t* place, int64_t count, const double* x, const double* y,
                              const double* z, const double* softening, const int32_t* order,
                              const backend::DeviceStatus* status, TargetArrays out) {
    const int64_t t = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (t >= count || backend::stopped(status))
        return;
    const int32_t p = place[t];
    out.x[t] = x[p], out.y[t] = y[p], out.z[t] = z[p];
    out.origin[t] = order[p];
    if (softening != nullptr)
        out.softening[t] = softening[p];
}

} // namespace

GroupingInput cut_input(backend::Queue& queue, const tree::DeviceTree& tree, const int32_t* before,
                        int group_size) {
    return {tree.counts.data(),
            tree.nodes.data(),
            tree.keys.data(),
            tree.level_offset.data(),
            before,
            queue.status(),
            tree.n,
            tree.node_capacity(),
            group_size,
            tree.options.dimension,
            tree.options.has_range,
            tree.options.root_of_most,
            tree.options.key_begin,
            tree.options.key_end};
}

void cut_targets(backend::Queue& queue, TargetBuffers& work, const GroupingInput& input,
                 DeviceTargets& targets) {
    const int64_t n = targets.n, expected = 3 * (n / input.group_size) + 64;
    targets.group_size = input.group_size;
    targets.groups.resize(std::max(targets.groups.size(), expected));
    targets.group_count.resize(1);
    work.start.resize(n);
    work.first.resize(n);
    GRAFT_CUDA(cudaMemsetAsync(targets.group_count.data(), 0, sizeof(int32_t), queue.stream()));
    if (n == 0)
        return;
    mark_groups(queue, input, targets, work.start.data());
    backend::select_flagged(queue, work.start.data(), work.first.data(), targets.group_count.data(), n);
    bound_groups(queue, work.first.data(), targets);
}

void gather_targets(backend::Queue& queue, const tree::DeviceTree& tree, const int32_t* place,
                    DeviceTargets& targets) {
    const int64_t n = targets.n;
    const bool softened = !tree.softening.empty();
    targets.own_x.resize(n), targets.own_y.resize(n), targets.own_z.resize(n);
    targets.own_softening.resize(softened ? n : 0);
    targets.own_origin.resize(n);
    targets.x = targets.own_x.data(), targets.y = targets.own_y.data(), targets.z = targets.own_z.data();
    targets.softening = softened ? targets.own_softening.data() : nullptr;
    targets.origin = targets.own_origin.data();
    if (n == 0)
        return;
    gather_places<<<backend::blocks_for(n, 256), 256, 0, queue.stream()>>>(
        place, n, tree.x.data(), tree.y.data(), tree.z.data(), softened ? tree.softening.data() : nullptr,
        tree.order.data(), queue.status(),
        {targets.own_x.data(), targets.own_y.data(), targets.own_z.data(), targets.own_softening.data(),
         targets.own_origin.data()});
    GRAFT_CUDA_LAUNCHED("gather of targets");
    ++queue.launches;
}

/// before and own_place of the active particles.
void select_active(backend::Queue& queue, TargetBuffers& work, const tree::DeviceTree& tree,
                   const uint8_t* active, DeviceTargets& targets) {
    work.before.resize(tree.n + 1);
    targets.own_place.resize(targets.n);
    flag_active<<<backend::blocks_for(tree.n + 1, 256), 256, 0, queue.stream()>>>(
        active, tree.order.data(), tree.n, queue.status(), work.before.data());
    GRAFT_CUDA_LAUNCHED("active targets");
    backend::exclusive_sum(queue, work.before.data(), work.before.data(), tree.n + 1);
    list_places<<<backend::blocks_for(tree.n, 256), 256, 0, queue.stream()>>>(
        work.before.data(), tree.n, targets.n, targets.own_place.data());
    GRAFT_CUDA_LAUNCHED("places of targets");
    queue.launches += 2;
}

} // namespace device

DeviceTargetMaker::DeviceTargetMaker(backend::DeviceMemory& memory) : work_(new Work(memory)) {}

DeviceTargetMaker::~DeviceTargetMaker() {
    delete work_;
}

void DeviceTargetMaker::set_all(backend::Queue& queue, const tree::DeviceTree& tree, int group_size,
                                DeviceTargets& targets) {
    check_group_size(group_size);
    targets.n = tree.n;
    targets.own_place.resize(0);
    if (tree.options.type == tree::TreeType::orb) {
        device::sort_targets(queue, *work_, tree, nullptr, group_size, targets);
        return;
    }
    targets.x = tree.x.data(), targets.y = tree.y.data(), targets.z = tree.z.data();
    targets.softening = tree.softening.empty() ? nullptr : tree.softening.data();
    targets.origin = tree.order.data();
    device::cut_targets(queue, *work_, device::cut_input(queue, tree, nullptr, group_size), targets);
}

void DeviceTargetMaker::set_active(backend::Queue& queue, const tree::DeviceTree& tree, const uint8_t* active,
                                   int64_t count, int group_size, DeviceTargets& targets) {
    check_group_size(group_size);
    targets.n = count;
    device::select_active(queue, *work_, tree, active, targets);
    if (tree.options.type == tree::TreeType::orb) {
        device::sort_targets(queue, *work_, tree, targets.own_place.data(), group_size, targets);
        return;
    }
    device::gather_targets(queue, tree, targets.own_place.data(), targets);
    device::cut_targets(queue, *work_, device::cut_input(queue, tree, work_->before.data(), group_size),
                        targets);
}

} // namespace graft::lists
