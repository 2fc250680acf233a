// SPDX-License-Identifier: BSD-3-Clause
// Targets in groups on the device, and the way from their order to the host's items.
#pragma once

#include "engine/import_inputs_gpu.cuh"
#include "lists/lists_gpu.cuh"

namespace graft::engine {

/// All pairs: targets that stand together in space.
inline constexpr int direct_block = 256;

class TargetStep {
  public:
    explicit TargetStep(backend::DeviceMemory& memory)
        : targets(memory), maker_(memory), chosen_origin_(memory, "target origins") {}

    // Enqueued, each.
    /// In the tree's order where they are particles.
    void choose(Computation& c, const ImportStep& from, const tree::DeviceTree& tree);
    /// All pairs: in compact blocks along the Morton curve.
    void block(Computation& c, const forces::DeviceSources& at);
    /// The way of chosen particles: order[k] is a number among them.
    void lead_to_chosen(Computation& c, const ImportStep& from, const int32_t* order);
    const int32_t* chosen_origin() const { return chosen_origin_.data(); }

    lists::DeviceTargets targets;

  private:
    lists::DeviceTargetMaker maker_;
    backend::DeviceBuffer<int32_t> chosen_origin_; // direct method
};

} // namespace graft::engine
