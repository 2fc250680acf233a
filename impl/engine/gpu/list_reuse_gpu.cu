// Lists that serve several computations (deck keys gpu.list_reuse, gpu.list_skin): tree and lists stay as
// they are, places, moments and boxes are the new ones; a device-side watch stops the computation when a
// particle has moved by more than the skin or a charge has changed, and end() then builds all anew.
//
// Kept are lists of all particles, in one batch, of an octree that the device built, between computations of
// equal settings. What else is computed in between (subsets, points, another n) ends them. The criterion
// holds for the moved particles (skin_gpu.cuh); the error MAC's factor of a group is that of the build.
#include "engine/gpu/engine_gpu.cuh"

#include "tree/tree_refresh_gpu.cuh"

namespace graft::engine {

/// Whether this computation's lists may serve later ones.
bool DeviceForce::keeps_lists() const {
    const settings::Settings& settings = job_.settings;
    const auto kernel = static_cast<forces::DeviceKernel>(settings.device.kernel);
    return settings.device.reuse > 0 && job_.is_tree() && settings.tree_type == tree::TreeType::octree &&
           job_.all_targets && !job_.with_points && !job_.over_ranks && !job_.empty() &&
           (kernel == forces::DeviceKernel::automatic || kernel == forces::DeviceKernel::units);
}

bool DeviceForce::may_reuse_lists() const {
    return keeps_lists() && kept_.valid && kept_.served < job_.settings.device.reuse &&
           kept_.key == lists_key();
}

lists::WatchedParticles DeviceForce::watched() const {
    return {job_.n,    x_.data(),      y_.data(),
            z_.data(), charge_.data(), job_.per_particle ? softening_.data() : nullptr};
}

/// In place of building the tree.
void DeviceForce::refresh_kept_tree() {
    watch_.measure(queue_, watched());
    watch_.stop_beyond(queue_, job_.settings.device.skin);
    const tree::DeviceParticleView particles{job_.n,         x_.data(),
                                             y_.data(),      z_.data(),
                                             charge_.data(), job_.per_particle ? softening_.data() : nullptr};
    tree::refresh_tree(queue_, particles, static_cast<int>(kept_.status.levels), tree_);
    clock_.record(queue_.stream(), DeviceClock::built, capturing_);
}

/// After a computation that needs no repair.
void DeviceForce::account_for_lists() {
    if (!job_.is_tree() || job_.empty())
        return;
    if (reusing_) {
        ++kept_.served, ++lists_reused_;
        last_status_.nodes_needed = kept_.status.nodes_needed, last_status_.leaves = kept_.status.leaves;
        last_status_.levels = kept_.status.levels;
        last_status_.node_entries_needed = kept_.status.node_entries_needed;
        last_status_.leaf_entries_needed = kept_.status.leaf_entries_needed;
        return;
    }
    ++lists_built_;
    kept_.valid = keeps_lists() && batches_ == 1 && !host_built_;
    if (kept_.valid)
        kept_.key = lists_key();
    kept_.served = 0, kept_.status = last_status_;
}

} // namespace graft::engine
