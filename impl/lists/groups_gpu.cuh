// SPDX-License-Identifier: BSD-3-Clause
// Cutting targets in octree order into groups on the device: the groups of groups.cpp. For this room only.
#pragma once

#include "lists/lists_gpu.cuh"

namespace graft::lists::device {

/// `before[p]`: targets at tree places < p (n + 1 entries), or NULL when every particle is a target.
struct GroupingInput {
    const tree::DeviceTreeCounts* counts;
    const tree::Node* nodes;
    const uint64_t* keys;
    const int32_t* level_offset;
    const int32_t* before;
    const backend::DeviceStatus* status;
    int64_t n; // particles
    int32_t node_capacity, group_size, dimension;
    bool has_range, beyond_cells; // beyond_cells: particles may stand outside the cube of the keys
    uint64_t key_begin, key_end;
};

/// Enqueues: start[t] = 1 where target t is the first of its group, else 0; targets.n entries. One thread a
/// node: every node with too many targets packs its own children, or cuts its own keys, whatever the others
/// do. A target outside the cube of the keys is a group of its own: one around it would be as wide as it is far,
/// and meet every source.
void mark_groups(backend::Queue& queue, const GroupingInput& input, const DeviceTargets& targets,
                 uint8_t* start);

/// Enqueues: groups from the first target of each (ascending, *count of them), with boxes and softening.
/// Writes status groups_needed, stops with too_small when they do not fit.
void bound_groups(backend::Queue& queue, const int32_t* first, DeviceTargets& targets);

} // namespace graft::lists::device
