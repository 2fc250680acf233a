// SPDX-License-Identifier: BSD-3-Clause
// Across which side a cell is cut, and what its children are: one body for the CPU and the device.
#pragma once

#include "decompose/decompose.hpp"
#include "decompose/orb/left_filled.hpp"
#include "decompose/ordering.hpp"
#include "geometry/box.hpp"

#include <algorithm>

namespace graft::decompose {

/// The side a cell is cut across, of the first `dimension`: the longest, x before y before z.
GRAFT_HD inline int cut_axis(const Cell& cell, int dimension) {
    int axis = 0;
    // Halves: the edge of a box may be more than the largest double.
    const auto edge = [&](int a) { return 0.5 * cell.upper[a] - 0.5 * cell.lower[a]; };
    for (int a = 1; a < dimension; ++a)
        if (edge(a) > edge(axis))
            axis = a;
    return axis;
}

/// Writes the cut into `cell` and its two children.
GRAFT_HD inline void cut_cell(Cell& cell, int axis, const Cut& cut, Cell& left, Cell& right) {
    cell.axis = axis;
    cell.cut = cut.x;
    cell.tie = cut.tie;
    left = right = cell;
    left.axis = right.axis = -1;
    left.cut = right.cut = 0;
    left.tie = right.tie = lowest_id;
    left.parts = static_cast<int32_t>(leaves_left(cell.parts));
    right.parts = cell.parts - left.parts;
    right.first_part = cell.first_part + left.parts;
    // A cut behind the last point of the domain is one step outside it.
    left.upper[axis] = right.lower[axis] = geometry::between(cut.x, cell.lower[axis], cell.upper[axis]);
}

/// The cut of a cell without points: its middle.
GRAFT_HD inline Cut middle_cut(const Cell& cell, int axis) {
    return {0.5 * cell.lower[axis] + 0.5 * cell.upper[axis] + 0.0, lowest_id};
}

} // namespace graft::decompose
