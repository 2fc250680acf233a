// Where the frame of a block of targets is too coarse for single precision.
//
// A target and the sources beside it have coordinates of at most 1 in the frame, rounded to 2^-25; the pair's
// distance is wrong by 2^-24 an axis, its force by 2 sqrt(3) 2^-24 / distance of itself. A block that
// straddles far clumps, a close pair in a wide block, a far source that makes the frame small (`reach`) bring
// pairs closer than frame_resolution, whose forces would be wrong by more than 1 / 300, or by all there is:
// such targets are summed in double. Pairs are looked for among targets that stand beside each other in
// target order; single precision stays where that order does not bring the nearest together (sources that are
// no targets).
#pragma once

#include "kernels/frame.hpp"

namespace graft::kernels {

/// Smallest distance in frame units that single precision is trusted with.
inline constexpr double frame_resolution = 0x1p-14;

/// How many targets before and behind are looked at.
inline constexpr int frame_neighbours = 4;

/// Largest coordinate distance of point k from the nearest at another place among its neighbours in order, of
/// n; infinity: all of them are at its place, or it has none.
GRAFT_HD inline double neighbour_gap(const double* x, const double* y, const double* z, int64_t n,
                                     int64_t k) {
    double gap = std::numeric_limits<double>::infinity();
    const int64_t first = k < frame_neighbours ? 0 : k - frame_neighbours,
                  last = k + frame_neighbours < n ? k + frame_neighbours : n - 1;
    for (int64_t j = first; j <= last; ++j) {
        const double distance = geometry::larger(
            geometry::larger(std::abs(x[j] - x[k]), std::abs(y[j] - y[k])), std::abs(z[j] - z[k]));
        gap = distance > 0 ? geometry::smaller(gap, distance) : gap;
    }
    return gap;
}

/// Whether a target whose nearest neighbour is at `gap` needs double; `softening`: its length (0: none),
/// below which distances do not matter.
GRAFT_HD inline bool too_coarse(const Frame& frame, double gap, double softening) {
    return geometry::larger(gap, softening) * frame.scale < frame_resolution;
}

/// Whether what a target adds to its own sum of potentials (softening.hpp), and what the caller takes off
/// again, is a thousand times what `sources` equal charges at distance 1 add, so that single precision leaves
/// little of them; or is not what the caller takes off, as what the kernels add to every r^2 is no longer
/// small beside the softening. `one_plummer`: Plummer's, one length for all, which r^2 is at least.
GRAFT_HD inline bool loses_itself(const Frame& frame, double softening, bool one_plummer, int64_t sources) {
    const double few = 0x1p-10 / static_cast<double>(sources), lost = one_plummer ? 0x1p-33 : 0x1p-20;
    return softening > 0 && softening * frame.scale < geometry::larger(few, lost);
}

} // namespace graft::kernels
