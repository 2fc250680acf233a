// SPDX-License-Identifier: BSD-3-Clause
// See target_step_gpu.cuh.
#include "engine/gpu/target_step_gpu.cuh"

namespace graft::engine {

void TargetStep::choose(Computation& c, const ImportStep& from, const tree::DeviceTree& tree) {
    const DeviceJob& job = c.job;
    const int group = job.settings.group;
    targets.keeps_factors = c.tree_from == TreeFrom::kept; // the criterion, which made them, stays as it is
    if (job.with_points)
        maker_.set_points(c.queue, job.settings.dimension, job.targets, from.point_x.data(),
                          from.point_y.data(), from.point_z.data(),
                          job.per_particle ? from.point_length.data() : nullptr, group, targets);
    else if (job.all_targets)
        maker_.set_all(c.queue, tree, group, targets);
    else
        maker_.set_active(c.queue, tree, from.active(), job.targets, group, targets);
}

void TargetStep::block(Computation& c, const forces::DeviceSources& at) {
    maker_.set_points(c.queue, c.job.settings.dimension, c.job.targets, at.x, at.y, at.z, at.softening,
                      direct_block, targets);
}

void TargetStep::lead_to_chosen(Computation& c, const ImportStep& from, const int32_t* order) {
    chosen_origin_.resize(c.job.targets);
    compose(c.queue, from.chosen(), order, c.job.targets, chosen_origin_.data());
}

} // namespace graft::engine
