// SPDX-License-Identifier: BSD-3-Clause
// See list_step_gpu.cuh.
#include "engine/gpu/list_step_gpu.cuh"

#include "essential/forest.hpp"

namespace graft::engine {

void ListStep::fill_criterion(Computation& c, const TreeStep& from) {
    const settings::Settings& settings = c.job.settings;
    criterion.skin = c.job.keeps_lists() ? 2 * settings.device.skin : 0;
    const bool error = settings.mac == settings::MacType::error;
    if (error)
        estimate.prepare(c.queue, settings, c.job.per_particle, from.tree, from.moments, criterion.skin);
    lists::fill_criterion(c.queue, from.tree, from.moments, essential::criterion_options(settings),
                          error ? estimate.reach() : nullptr, criterion);
}

void ListStep::scale_targets(Computation& c, const TreeStep& from, const LastField& last,
                             lists::DeviceTargets& targets) {
    const settings::Settings& settings = c.job.settings;
    if (settings.mac != settings::MacType::error)
        return;
    if (settings.mac_history && !c.job.with_points && last.n == c.job.n)
        lists::scale_groups_by_last(c.queue, settings, last.values.data(), targets);
    else
        estimate.scale_groups(c.queue, settings, c.job.per_particle, targets, &from.tree, c.job.with_points);
}

void ListStep::build(Computation& c, const tree::DeviceTree& tree, const lists::DeviceCriterion& of,
                     const lists::DeviceTargets& targets, int batch, int batches,
                     const lists::DeviceFarChoice* far) {
    builder.build(c.queue, tree, of, targets, c.job.walk(), batch, batches, lists, far);
}

} // namespace graft::engine
