// SPDX-License-Identifier: BSD-3-Clause
// How far the nearest neighbour of a tree's target is, where the frame may be too coarse (frame_resolution.hpp):
// the GPU looks among targets that stand beside each other in target order. Single precision stays where that
// order does not bring the nearest together: on two sides of a large cell's face. Targets that are not the tree's
// sources look at those of their group's list instead (p2p/coarse_targets_gpu.cu).
#pragma once

#include "forces/frame_resolution.hpp"

namespace graft::forces {

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

} // namespace graft::forces
