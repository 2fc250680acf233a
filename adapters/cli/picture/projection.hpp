// SPDX-License-Identifier: BSD-3-Clause
// Surface density of particles seen along an axis, on a grid of pixels.
// Every particle is spread over a disc that is as wide as the local crowding allows: sharp where there are
// many particles, smooth where there are few.
#pragma once

#include <cstddef>
#include <vector>

namespace graft::cli {

/// Particles in the plane of the picture: horizontal, vertical (upward), and how much each weighs.
struct PlanePoints {
    std::vector<double> horizontal, vertical, weight;
};

/// A square map, row 0 at the top, of weight per unit area.
struct DensityMap {
    std::size_t pixels = 0; ///< a side
    std::vector<double> values;
    double at(std::size_t column, std::size_t row) const { return values[row * pixels + column]; }
};

/// The map of the square of half width `half_width` around (centre_h, centre_v). The sum of the map times the
/// pixel's area is the weight of the points inside, up to what crosses the edges. O(n * pixels in a spread
/// disc).
DensityMap project(const PlanePoints& points, double centre_h, double centre_v, double half_width,
                   std::size_t pixels);

} // namespace graft::cli
