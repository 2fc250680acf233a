// Computations whose particles nearly fill the device: arrays whose times of life do not overlap share
// memory, and a repeat for longer lists goes on behind the tree. What of that is whose: tight_memory.hpp.
//
// The columns x_ ... charge_ become the tree's while it lives; keys are sorted, and columns moved, in the
// field's memory, which nothing has written yet. enqueue() and what repairs take the columns back first.
#include "engine/gpu/engine_gpu.cuh"

#include "backend/exact_memory_gpu.cuh"
#include "engine/gpu/tight_memory.hpp"

#include <algorithm>

namespace graft::engine {

// The sizes that tight_memory.cpp has.
static_assert(sizeof(tree::Node) == 32 && sizeof(geometry::Box) == 48 && sizeof(lists::Group) == 80);
static_assert(sizeof(lists::CoarseNode) == 48);
static_assert(sizeof(lists::DeviceMacXY) + sizeof(lists::DeviceMacZA) + sizeof(lists::DeviceMacLink) == 48);

namespace {

constexpr int64_t seldom_lean = int64_t{1} << 22; // up to here nobody asks how much memory is free

} // namespace

/// The fused octree in three dimensions, all particles' accelerations and no more, where they do not fit
/// otherwise, or are many.
bool DeviceForce::wants_lean() const {
    const settings::Settings& s = job_.settings;
    const settings::DeviceOptions& d = s.device;
    const auto kernel = static_cast<forces::DeviceKernel>(d.kernel);
    const bool serves =
        job_.is_tree() && s.tree_type == tree::TreeType::octree && s.dimension == 3 && !s.periodic &&
        job_.all_targets && !job_.with_points && !job_.over_ranks && !job_.empty() && !job_.per_particle &&
        !job_.with_potential && !job_.with_sums && !job_.outputs.force && !remembers() && d.reuse == 0 &&
        s.leaf <= s.group && d.build == static_cast<int32_t>(tree::DeviceBuild::fused) &&
        (kernel == forces::DeviceKernel::automatic || kernel == forces::DeviceKernel::units);
    if (!serves)
        return false;
    if (job_.n > always_lean || (job_.n < seldom_lean && d.memory_limit == 0))
        return job_.n > always_lean;
    const bool local = why_not_local() == nullptr;
    const int64_t there = memory_.bytes_free() + memory_.bytes_held();
    return footprint_bytes(footprint_shape(job_.n, s.leaf, s.group, s.order, false, local)) > there;
}

/// Where the user has not chosen leaves, and particles are many: the smallest that leave room for lists, as
/// nodes take their memory from these. By the device's memory or the limit, not by what is free just now:
/// another leaf is another set of bits.
void DeviceForce::choose_lean_leaf() {
    settings::Settings& s = job_.settings;
    note_ = "the particles nearly fill the device: tree and field share their memory";
    if (s.tuned || job_.n <= always_lean)
        return;
    constexpr int64_t list_bytes = 8, caller_bytes = 28; // a particle; lists are made in batches
    size_t free = 0, total = 0;
    GRAFT_CUDA(cudaMemGetInfo(&free, &total));
    const int64_t all = static_cast<int64_t>(total - total / 128);
    const int64_t there =
        s.device.memory_limit > 0 ? std::min(s.device.memory_limit, all) : all - caller_bytes * job_.n;
    for (const int leaf : {s.leaf, 64, 96, 128}) {
        s.leaf = std::min(leaf, s.group);
        const FootprintShape shape = footprint_shape(job_.n, s.leaf, s.group, s.order, true, true);
        if (footprint_bytes(shape) + list_bytes * job_.n <= there)
            return;
    }
}

tree::DeviceColumns DeviceForce::columns() {
    return {{&x_, &y_, &z_, &charge_}, {&field_.ax, &field_.ay, &field_.az}};
}

void DeviceForce::build_tree_within() {
    for (backend::DeviceBuffer<double>* column : columns().lent)
        backend::resize_exactly(*column, job_.n);
    field_.potential.release();
    tree::TreeOptions options = octree_options(job_.settings);
    within_.build(queue_, options, columns(), tree_);
    clock_.record(queue_.stream(), DeviceClock::built, capturing_);
}

void DeviceForce::give_columns_back(bool with_contents) {
    within_.give_back(queue_, columns(), tree_, with_contents);
}

/// Whether only the lists' room was too small: tree, moments, targets and criterion are complete then.
bool DeviceForce::may_resume(const backend::DeviceStatus& status) const {
    return lean_ && within_.holds() && !host_built_ && status.stop == backend::too_small &&
           (resuming_ ||
            (status.nodes_needed <= tree_.node_capacity() && status.groups_needed <= targets_.groups.size()));
}

void DeviceForce::resume_after(const backend::DeviceStatus& status) {
    const bool again = may_resume(status);
    if (again && !resuming_)
        resumed_ = status;
    resuming_ = again;
}

} // namespace graft::engine
