// SPDX-License-Identifier: BSD-3-Clause
// The force-error MAC on the device: reach of every node, factor of every group. field_estimate.hpp and forest.cpp
// there.
#pragma once

#include "backend/queue_gpu.cuh"
#include "lists/lists_gpu.cuh"
#include "moments/moments_gpu.cuh"
#include "lists/estimate_step.hpp"
#include "settings/settings.hpp"
#include "tree/tree_gpu.cuh"

namespace graft::lists {

class DeviceEstimate {
  public:
    explicit DeviceEstimate(backend::DeviceMemory& memory)
        : nodes_(memory, "coarse nodes"), reach_(memory, "MAC reach") {}

    /// Enqueued: reach of all nodes (one thread a node), and the records that scale_groups() walks over.
    /// skin: of the criterion (lists/skin_gpu.cuh); the reach is that of nodes grown by it.
    void prepare(backend::Queue& queue, const settings::Settings& settings, bool per_particle_softening,
                 const tree::DeviceTree& tree, const moments::DeviceMoments& moments, double skin = 0);
    const double* reach() const { return reach_.data(); }
    const EstimateNode* nodes() const { return nodes_.data(); }

    /// Enqueued: factors of all groups from a coarse walk, a warp a group; about 200 nodes each. The sums are
    /// those of estimate_accelerations in another order, the same every run.
    /// tree: that prepare() saw, or null where it has no particles; of_points: targets are none of them.
    /// others: nodes of other ranks, the first one their root.
    void scale_groups(backend::Queue& queue, const settings::Settings& settings, bool per_particle_softening,
                      DeviceTargets& targets, const tree::DeviceTree* tree, bool of_points,
                      const EstimateNode* others = nullptr);

  private:
    backend::DeviceBuffer<EstimateNode> nodes_;
    backend::DeviceBuffer<double> reach_;
};

/// Enqueued: factors from the least of last[host index] of each group's targets.
void scale_groups_by_last(backend::Queue& queue, const settings::Settings& settings, const double* last,
                          DeviceTargets& targets);

} // namespace graft::lists
