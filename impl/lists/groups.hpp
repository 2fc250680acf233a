// SPDX-License-Identifier: BSD-3-Clause
// Cuts the targets of an octree into groups; the one mechanism behind every TargetSet.
#pragma once

#include "core/buffer.hpp"
#include "core/host_device.hpp"
#include "lists/targets.hpp"
#include "tree/tree.hpp"

namespace graft::lists {

/// Most targets of a group of small cells out of one cell with so many particles. A group's list grows with
/// the particles around it: a few strays packed together from the corners of a crowded cell would open all of
/// it (8e6 particles of a Plummer sphere: one group of 63 met 8e6 sources). Where only few of the particles
/// are targets it makes groups smaller for the same reason. >= 1.
GRAFT_HD inline int64_t group_limit(int64_t particles, int64_t group_size) {
    constexpr int64_t crowded = 16; // times the group: uniform and smooth clouds stay far below
    if (particles / crowded <= group_size)
        return group_size;
    const int64_t limit = crowded * group_size * group_size / particles;
    return limit > 1 ? limit : 1;
}

/// Fills first and count of the groups, in target order. `before[p]` is the number of targets at tree
/// places < p (n + 1 entries); NULL when every particle is a target. Cost O(groups).
/// `cells`: the groups, and above them the cells of the tree that hold several (their `next` and `group` alone).
void cut_groups(const tree::Tree& octree, const int32_t* before, int group_size, core::Buffer<Group>& groups,
                core::Buffer<TargetCell>& cells);

} // namespace graft::lists
