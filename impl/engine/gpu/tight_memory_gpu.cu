// SPDX-License-Identifier: BSD-3-Clause
// See tight_memory_gpu.cuh.
#include "engine/gpu/tight_memory_gpu.cuh"

#include "engine/gpu/tight_memory.hpp"

#include <algorithm>

namespace graft::engine {

// The sizes that tight_memory.cpp has.
static_assert(sizeof(tree::Node) == 32 && sizeof(geometry::Box) == 48 && sizeof(lists::Group) == 80);
static_assert(sizeof(lists::EstimateNode) == 48);
static_assert(sizeof(lists::DeviceMacXY) + sizeof(lists::DeviceMacZA) + sizeof(lists::DeviceMacLink) == 48);

namespace {

constexpr int64_t seldom_lean = int64_t{1} << 22; // up to here nobody asks how much memory is free

/// The fused octree in three dimensions, all particles' accelerations and no more.
bool serves_in_place(const DeviceJob& job) {
    const settings::Settings& s = job.settings;
    const settings::DeviceOptions& d = s.device;
    const forces::DeviceKernel kernel = job.kernel();
    return job.is_tree() && s.tree_type == tree::TreeType::octree && s.dimension == 3 && !s.periodic &&
           job.all_targets && !job.with_points && !job.over_ranks && !job.empty() && !job.per_particle &&
           !job.with_potential && !job.with_sums && !job.outputs.force && !job.remembers() &&
           !job.conserves_momentum() && d.reuse == 0 &&
           s.leaf <= s.group && d.build == static_cast<int32_t>(tree::DeviceBuild::fused) &&
           (kernel == forces::DeviceKernel::automatic || kernel == forces::DeviceKernel::units);
}

} // namespace

bool wants_tree_in_place(const Computation& c) {
    const DeviceJob& job = c.job;
    const settings::Settings& s = job.settings;
    if (!serves_in_place(job))
        return false;
    if (job.n > always_lean || (job.n < seldom_lean && s.device.memory_limit == 0))
        return job.n > always_lean;
    const bool local = job.why_not_local() == nullptr;
    const int64_t there = c.memory.bytes_free() + c.memory.bytes_held();
    return footprint_bytes(footprint_shape(job.n, s.leaf, s.group, s.order, false, local)) > there;
}

/// Where the user has not chosen leaves, and particles are many: the smallest that leave room for lists, as
/// nodes take their memory from these. By the device's memory or the limit, not by what is free just now:
/// another leaf is another set of bits.
void choose_leaf_in_place(Computation& c) {
    const DeviceJob& job = c.job;
    settings::Settings& s = c.job.settings;
    c.note = "the particles nearly fill the device: tree and field share their memory";
    if (s.tuned || job.n <= always_lean)
        return;
    constexpr int64_t list_bytes = 8, caller_bytes = 28; // a particle; lists are made in batches
    size_t free = 0, total = 0;
    GRAFT_CUDA(cudaMemGetInfo(&free, &total));
    const int64_t all = static_cast<int64_t>(total - total / 128);
    const int64_t there =
        s.device.memory_limit > 0 ? std::min(s.device.memory_limit, all) : all - caller_bytes * job.n;
    for (const int leaf : {s.leaf, 64, 96, 128}) {
        s.leaf = std::min(leaf, s.group);
        const FootprintShape shape = footprint_shape(job.n, s.leaf, s.group, s.order, true, true);
        if (footprint_bytes(shape) + list_bytes * job.n <= there)
            return;
    }
}

namespace {

/// Whether only the lists' room was too small: tree, moments, targets and criterion are complete then.
bool may_resume(const Steps& s, const backend::DeviceStatus& status) {
    return s.c.in_place() && s.tree.has_columns() && status.stop == backend::too_small &&
           (s.c.tree_from == TreeFrom::resumed || (status.nodes_needed <= s.tree.tree.node_capacity() &&
                                                   status.groups_needed <= s.targets.targets.groups.size()));
}

} // namespace

void choose_resume(Steps& s, const backend::DeviceStatus& status) {
    Computation& c = s.c;
    if (!c.in_place())
        return;
    const bool again = may_resume(s, status);
    if (again && c.tree_from != TreeFrom::resumed)
        c.resumed = status;
    c.tree_from = again ? TreeFrom::resumed : TreeFrom::in_place;
}

} // namespace graft::engine
