// SPDX-License-Identifier: BSD-3-Clause
// The cells of the target side: groups, and the cells above them that share their far field (dual_walk.hpp).
//
// Parents stand first, depth first: the cells below cell i are i + 1 ... next - 1, its children i + 1, that one's
// next, and so on. Groups are the cells without others below, in the order of their targets.
#pragma once

#include "backend/executor.hpp"
#include "core/buffer.hpp"
#include "lists/targets.hpp"

namespace graft::lists {

/// Every group a cell of its own.
void cells_of_groups(const core::Buffer<Group>& groups, core::Buffer<TargetCell>& cells);

/// What the groups know of their targets, to the cells above them.
void bound_cells(const core::Buffer<Group>& groups, core::Buffer<TargetCell>& cells);

} // namespace graft::lists
