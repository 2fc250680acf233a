// SPDX-License-Identifier: BSD-3-Clause
// Where the frame of a block of targets is too coarse for single precision.
//
// A target and the sources beside it have coordinates of at most 1 in the frame, rounded to 2^-25; the pair's
// distance is wrong by 2^-24 an axis, its force by 2 sqrt(3) 2^-24 / distance of itself. A block that
// straddles far clumps, a close pair in a wide block, a far source that makes the frame small (`reach`) bring
// pairs closer than frame_resolution, whose forces would be wrong by more than 1 / 300, or by all there is:
// such targets are summed in double. The CPU looks for pairs among a block's targets and sources
// (close_targets.hpp), the GPU among targets that stand beside each other in target order: there single
// precision stays where that order does not bring the nearest together (sources that are no targets).
#pragma once

#include "forces/frame.hpp"

namespace graft::forces {

/// Smallest distance in frame units that single precision is trusted with.
inline constexpr double frame_resolution = 0x1p-14;

/// How many targets before and behind are looked at.
inline constexpr int frame_neighbours = 4;

/// Points in target order.
struct OrderedPoints {
    const double *x, *y, *z;
    int64_t count;
    /// Largest coordinate distance.
    GRAFT_HD double between(int64_t i, int64_t j) const {
        return geometry::larger(geometry::larger(std::abs(x[i] - x[j]), std::abs(y[i] - y[j])),
                                std::abs(z[i] - z[j]));
    }
};

/// Distance of point k from the nearest at another place among the points `first`, first + step ...
/// (frame_neighbours of them, where there are as many); infinity: none.
GRAFT_HD inline double gap_along(const OrderedPoints& points, int64_t k, int64_t first, int step) {
    double gap = std::numeric_limits<double>::infinity();
    for (int64_t i = 0, j = first; i < frame_neighbours && j >= 0 && j < points.count; ++i, j += step) {
        const double distance = points.between(j, k);
        gap = distance > 0 ? geometry::smaller(gap, distance) : gap;
    }
    return gap;
}

/// The last point from k on, in steps of +1 or -1, that stands where k does. Points at one place stand
/// together in target order.
GRAFT_HD inline int64_t end_of_heap(const OrderedPoints& points, int64_t k, int step) {
    const int64_t most = step > 0 ? points.count - 1 - k : k; // points behind k
    int64_t same = 0, other = 1;                              // steps: still there, perhaps not
    while (other <= most && points.between(k + step * other, k) == 0)
        same = other, other *= 2;
    other = other <= most ? other : most + 1;
    while (other - same > 1) {
        const int64_t middle = (same + other) / 2;
        (points.between(k + step * middle, k) == 0 ? same : other) = middle;
    }
    return k + step * same;
}

/// Distance of point k from the nearest at another place among its neighbours in order; those beside the
/// heap, where it stands in one. Infinity: all points are at its place.
GRAFT_HD inline double neighbour_gap(const OrderedPoints& points, int64_t k) {
    double gap = std::numeric_limits<double>::infinity();
    for (int step = -1; step <= 1; step += 2) {
        int64_t first = k + step;
        if (first >= 0 && first < points.count && points.between(first, k) == 0)
            first = end_of_heap(points, k, step) + step;
        gap = geometry::smaller(gap, gap_along(points, k, first, step));
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

} // namespace graft::forces
