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

/// Frame of a group of targets in `box`, whose longest edge becomes 0.5 ... 1. A box without extent (one
/// target) takes `fallback_length` (> 0: the distance or size of the nearest sources) for its edge; neither
/// gives scale 1, which is right only where no source is at another place.
/// `reach`, if known, is the distance of the furthest source: its place in the frame stays so small that the
/// square of it is finite in T, even if the targets are then much smaller than 1.
template <typename T>
Frame make_frame(const geometry::Box& box, double fallback_length, double reach = 0);

} // namespace graft::forces
