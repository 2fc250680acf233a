// SPDX-License-Identifier: BSD-3-Clause
// The walk of a target cell over the source nodes that the cells above it left to it.
//
// A cell that holds several groups takes what is far from all of them and leaves the rest to its children: nodes
// that it is larger than, leaves, and cells that are accepted but not far (far_cells.hpp). It opens nodes that
// are larger than itself. A group decides on all that is left, as if it had walked from the root: every node it
// meets is one that the criterion accepts for it, or whose particles it meets one by one. Source: Dehnen 2002
// (J. Comput. Phys. 179, 27), section 2.2, with lists per cell in place of a stack of pairs.
#pragma once

#include "lists/far_cells.hpp"
#include "lists/walk.hpp"

namespace graft::lists {

/// Children of an opened node that a cell has to decide on, or leaves to the cells below it.
struct Undecided {
    int32_t first;          // child
    uint8_t mask, terminal; // bit c: child c is undecided; is never opened
    uint16_t unused;
};

/// The root.
inline Undecided all_of(const WalkInput& input) {
    return {input.root, 1, static_cast<uint8_t>(input.root_terminal ? 1 : 0), 0};
}

/// Appends to `far` the nodes that are far from the whole cell, to `left` what its children have to decide on.
/// stack: walk_scratch() numbers.
void walk_cell(const WalkInput& input, const double* magnitude, const Target& target, const FarLimit& limit,
               const Undecided* from, int64_t count, Undecided* stack, core::Buffer<int32_t>& far,
               core::Buffer<Undecided>& left);

/// Appends a group's lists.
void walk_group(const WalkInput& input, const Target& target, const Undecided* from, int64_t count,
                Undecided* stack, core::Buffer<int32_t>& nodes, core::Buffer<int32_t>& leaves);

} // namespace graft::lists
