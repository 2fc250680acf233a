// SPDX-License-Identifier: BSD-3-Clause
// Working memory of DeviceTargetMaker and the steps that its files share. For this room only.
#pragma once

#include "lists/groups_gpu.cuh"

namespace graft::lists {

namespace device {

/// Status words that describe the tree of the sources.
struct TreeWords {
    int64_t nodes_needed, leaves, levels;
};

struct TargetBuffers {
    explicit TargetBuffers(backend::DeviceMemory& memory)
        : start(memory, "starts of groups"), first(memory, "first targets"), before(memory, "targets before"),
          places(memory, "places of sorted targets"), words(memory, "status words kept"), own(memory),
          builder(memory) {}
    backend::DeviceBuffer<uint8_t> start;   // targets
    backend::DeviceBuffer<int32_t> first;   // targets
    backend::DeviceBuffer<int32_t> before;  // particles + 1
    backend::DeviceBuffer<int32_t> places;  // targets
    backend::DeviceBuffer<TreeWords> words; // 1
    tree::DeviceTree own;                   // of points, and of targets that have no key order
    tree::DeviceTreeBuilder builder;
};

GroupingInput cut_input(backend::Queue& queue, const tree::DeviceTree& tree, const int32_t* before,
                        int group_size);
/// Groups of targets whose order and arrays are set.
void cut_targets(backend::Queue& queue, TargetBuffers& work, const GroupingInput& input,
                 DeviceTargets& targets);
/// The targets' own arrays from the particles at these tree places.
void gather_targets(backend::Queue& queue, const tree::DeviceTree& tree, const int32_t* place,
                    DeviceTargets& targets);
/// k-d tree: gives the targets.n targets at these places (NULL: all, in order) a key order of their own, and
/// groups.
void sort_targets(backend::Queue& queue, TargetBuffers& work, const tree::DeviceTree& tree,
                  const int32_t* place, int group_size, DeviceTargets& targets);

} // namespace device

struct DeviceTargetMaker::Work : device::TargetBuffers {
    using TargetBuffers::TargetBuffers;
};

} // namespace graft::lists
