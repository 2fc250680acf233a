// SPDX-License-Identifier: BSD-3-Clause
// Frames: the coordinates that kernels work in, x_frame = (x - centre) * scale with scale a power of two.
//
// In float the centre is the group's, so that single precision is spent on the neighbourhood and not on the
// distance from the origin. In double the centre is 0: differences of scaled coordinates are then those of
// the originals, bit for bit. The field in caller's units: a = a_frame * scale^2,
// potential = p_frame * scale.
#pragma once

#include "geometry/box.hpp"

#include <cstdint>

namespace graft::forces {

struct Frame {
    double centre[3] = {0, 0, 0};
    double scale = 1;
};

/// Largest distance in a frame, as a power of two: its cube is in range, and so are the places of targets
/// that double can tell apart.
template <typename T>
inline constexpr int reach_exponent = sizeof(T) == 4 ? 40 : 300;

/// Largest softening length in a frame, as a power of two: over its cube, what one of many charges adds at
/// the places of targets that T can tell apart is in range.
template <typename T>
inline constexpr int softening_exponent = sizeof(T) == 4 ? 20 : 100;

/// Charges lighter than this, where all of them together are about 1, leave single precision in the sums of a frame.
inline constexpr double least_charge_in_single = 0x1p-110;

/// Frame of a group of targets in `box`, whose longest edge becomes 0.5 ... 1. A box without extent (one
/// target) takes `fallback_length` (> 0: the distance or size of the nearest sources) for its edge; neither
/// gives scale 1, which is right only where no source is at another place.
/// `reach` and `softening`, if known, are the distance of the furthest source and the longest softening
/// length: in the frame they stay within the powers of two above, even if the targets are then much smaller
/// than 1, which single precision does not serve well.
template <typename T>
Frame make_frame(const geometry::Box& box, double fallback_length, double reach = 0, double softening = 0);

/// T serves sources nearer than this in a frame, which was made without them: 0, none, where over the cube of the longest
/// softening length the lightest charge (particles::Problem) leaves T no range.
template <typename T>
double served_distance(const Frame& frame, double softening, double lightest);

} // namespace graft::forces
