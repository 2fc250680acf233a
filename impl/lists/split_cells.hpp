// SPDX-License-Identifier: BSD-3-Clause
// Nodes whose cells meet other ranks' particles: pieces of a cell, lopsided, with mass at the rim, so that
// their errors are larger than those of cells and add up along the border. They must be further away. The
// bodies that CPU and GPU share (Forest::keep_off_pieces).
#pragma once

#include "core/host_device.hpp"
#include "geometry/box.hpp"

#include <cmath>

namespace graft::lists {

// Measured on Plummer spheres and cubes over 2 to 8 ranks, orders 2 and 4, so that the percentiles of the
// error stay those of one rank. A node at 1.15 times the distance has half the error at order 2.
inline constexpr double piece_reach = 1.15;
inline constexpr double piece_ratio = 0.6;
inline constexpr double piece_distance = 1.08;

/// The cell of this edge in the grid of the root cube that holds the box of a node.
GRAFT_HD inline geometry::Box cell_around(const geometry::Box& node, const double* root_lower, double edge) {
    geometry::Box box = node;
    if (!(edge > 0))
        return box;
    for (int a = 0; a < 3; ++a) {
        const double lower = root_lower[a] + floor((box.lower[a] - root_lower[a]) / edge) * edge;
        box.lower[a] = geometry::smaller(box.lower[a], lower); // rounding must not carry it off its particles
        box.upper[a] = geometry::larger(box.upper[a], lower + edge);
    }
    return box;
}

GRAFT_HD inline bool meet(const geometry::Box& a, const geometry::Box& b) {
    for (int axis = 0; axis < 3; ++axis)
        if (a.upper[axis] < b.lower[axis] || b.upper[axis] < a.lower[axis])
            return false;
    return true;
}

/// The criterion of a piece: `a` and `b` as lists/criterion.hpp, error: of the force-error MAC.
GRAFT_HD inline void keep_off_piece(bool error, double radius, double& a, double& b) {
    a *= piece_reach;
    b = error ? geometry::larger(b, radius / piece_ratio) : b * piece_distance;
}

} // namespace graft::lists
