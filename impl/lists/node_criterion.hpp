// SPDX-License-Identifier: BSD-3-Clause
// The acceptance criterion of one node: the bodies that host and device share, so that both have the same
// bits.
//
// No fused multiply-adds (criterion.hpp): the device compiles its side with --fmad=false, the host has none.
#pragma once

#include "core/host_device.hpp"
#include "lists/criterion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace graft::lists {

/// What the criterion reads of one node.
struct NodeFacts {
    geometry::Box box;
    double edge;       // of the key cell
    double cx, cy, cz; // centre of the expansion
    double radius;
    int64_t count;
    int32_t child_count;
};

/// Error MAC: largest radius / distance of an accepted node, whatever theta. Its estimate S / d^(p+3) is that
/// of a far node; the true error grows like 1 / (d - radius)^2 beside the particles on the node's rim.
inline constexpr double closest_ratio = 0.85;

GRAFT_HD inline double distance_from_box_centre(const geometry::Box& box, double x, double y, double z) {
    const double dx = x - (0.5 * box.lower[0] + 0.5 * box.upper[0]);
    const double dy = y - (0.5 * box.lower[1] + 0.5 * box.upper[1]);
    const double dz = z - (0.5 * box.lower[2] + 0.5 * box.upper[2]);
    return std::sqrt(dx * dx + dy * dy + dz * dz);
}

GRAFT_HD inline double longest_box_edge(const geometry::Box& box) {
    const double x = box.upper[0] - box.lower[0], y = box.upper[1] - box.lower[1],
                 z = box.upper[2] - box.lower[2];
    return std::max(std::max(x, y), z);
}

/// How much closer two boxes, or a box and a centre, may come when every particle moves by skin / 2: each
/// face by skin / 2 along its axis.
GRAFT_HD inline double skin_margin(double skin) {
    return 1.7320508075688774 * skin;
}

/// `b` of criterion.hpp. Particles that may each move by skin / 2: as if the node's length had grown by it.
GRAFT_HD inline double least_radius(Mac mac, double theta, double skin, const NodeFacts& node) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (theta == 0)
        return infinity;
    const double radius = node.radius + skin;
    if (mac == Mac::edge)
        return std::max((node.edge + skin) / theta, radius);
    if (mac == Mac::error)
        return radius / (theta < closest_ratio ? theta : closest_ratio);
    const double shift = distance_from_box_centre(node.box, node.cx, node.cy, node.cz) + skin_margin(skin);
    return std::max((longest_box_edge(node.box) + skin) / theta + shift, radius);
}

GRAFT_HD inline bool is_direct(const CriterionOptions& options, int64_t count) {
    return count <= options.direct_count;
}

GRAFT_HD inline bool is_terminal(const CriterionOptions& options, int32_t child_count, int64_t count) {
    return child_count == 0 || is_direct(options, count);
}

/// `b` of a node: infinite where its particles always act one by one.
GRAFT_HD inline double mac_radius(const CriterionOptions& options, double skin, const NodeFacts& node) {
    return is_direct(options, node.count) ? std::numeric_limits<double>::infinity()
                                          : least_radius(options.mac, options.theta, skin, node);
}

} // namespace graft::lists
