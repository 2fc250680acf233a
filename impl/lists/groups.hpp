// Cuts the targets of an octree into groups; the one mechanism behind every TargetSet.
#pragma once

#include "core/buffer.hpp"
#include "lists/targets.hpp"
#include "tree/tree.hpp"

namespace graft::lists {

/// Fills first and count of the groups, in target order. `before[p]` is the number of targets at tree places
/// < p (n + 1 entries); NULL when every particle is a target. Cost O(groups).
void cut_groups(const tree::Tree& octree, const int32_t* before, int group_size, core::Buffer<Group>& groups);

} // namespace graft::lists
