// SPDX-License-Identifier: BSD-3-Clause
// The total order of points along an axis, (coordinate, id), and positions in it.
//
// -0.0 and 0.0 are one place. A point without an id of its host's has (rank, index) for one: the order of the
// points as if all ranks' arrays were one. A cut is a position between two points of the order; cuts made by
// cut_before and cut_after are the same for the same set of points, however they were found.
#pragma once

#include "core/host_device.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace graft::decompose {

/// No id is below it: a cut with this tie sends all points at its coordinate right; also the id of a point
/// that has none, which goes left at every other tie.
inline constexpr int64_t lowest_id = std::numeric_limits<int64_t>::min();

/// Stands in for the id of local point `index` of `rank` when the host gives none.
constexpr int64_t implied_id(int rank, int64_t index) {
    return (static_cast<int64_t>(rank) << 32) + index;
}

/// Unsigned integers in the order of the doubles (finite; both zeros give one image).
GRAFT_HD inline uint64_t ordered_image(double x) {
    const uint64_t bits = std::bit_cast<uint64_t>(x + 0.0);
    return bits ^ (static_cast<uint64_t>(-static_cast<int64_t>(bits >> 63)) | (uint64_t{1} << 63));
}
/// The double whose image it is.
GRAFT_HD inline double from_ordered_image(uint64_t image) {
    const bool positive = (image >> 63) != 0;
    return std::bit_cast<double>(positive ? image ^ (uint64_t{1} << 63) : ~image);
}
/// Unsigned integers in the order of the ids.
constexpr uint64_t ordered_id(int64_t id) {
    return static_cast<uint64_t>(id) ^ (uint64_t{1} << 63);
}
constexpr int64_t from_ordered_id(uint64_t image) {
    return static_cast<int64_t>(image ^ (uint64_t{1} << 63));
}

/// A point's place in the order of one axis.
struct AxisPosition {
    double x;
    int64_t id;
};
GRAFT_HD inline bool operator<(const AxisPosition& a, const AxisPosition& b) {
    return a.x < b.x || (a.x == b.x && a.id < b.id);
}

/// Left of it: x < cut.x, or x == cut.x and id < tie.
struct Cut {
    double x = 0;
    int64_t tie = lowest_id;
};
GRAFT_HD inline bool is_left(const Cut& cut, double x, int64_t id) {
    return x < cut.x || (x == cut.x && id < cut.tie);
}

/// The cut whose first point to the right is `right`. heap_split: points at right.x stand left of it.
GRAFT_HD inline Cut cut_before(const AxisPosition& right, bool heap_split) {
    return {right.x + 0.0, heap_split ? right.id : lowest_id};
}
/// The cut whose last point to the left is `left`, the last one at its coordinate.
GRAFT_HD inline Cut cut_after(const AxisPosition& left) {
    return {std::nextafter(left.x + 0.0, std::numeric_limits<double>::infinity()), lowest_id};
}

} // namespace graft::decompose
