// SPDX-License-Identifier: BSD-3-Clause
// The opening criterion and the lists on the device.
#pragma once

#include "engine/gpu/sum_step_gpu.cuh"
#include "engine/gpu/tree_step_gpu.cuh"
#include "lists/field_estimate_gpu.cuh"
#include "lists/lists_gpu.cuh"

namespace graft::engine {

class ListStep {
  public:
    explicit ListStep(backend::DeviceMemory& memory)
        : criterion(memory), estimate(memory), builder(memory), lists(memory) {}

    // Enqueued, each.
    void fill_criterion(Computation& c, const TreeStep& from);
    /// Factors of the error MAC.
    void scale_targets(Computation& c, const TreeStep& from, const LastField& last,
                       lists::DeviceTargets& targets);
    /// Of one batch of groups.
    void build(Computation& c, const tree::DeviceTree& tree, const lists::DeviceCriterion& criterion,
               const lists::DeviceTargets& targets, int batch, int batches,
               const lists::DeviceFarChoice* far = nullptr);

    lists::DeviceCriterion criterion;
    lists::DeviceEstimate estimate;
    lists::DeviceListBuilder builder;
    lists::DeviceLists lists;
};

} // namespace graft::engine
