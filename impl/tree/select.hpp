// SPDX-License-Identifier: BSD-3-Clause
// Selection by (coordinate, index): the k-th particle to its place, smaller ones before it, larger ones
// behind.
//
// Quickselect whose pivot is the rank looked for in a sample, moved a little so that the part that is kept is
// the small one: about 1.6 passes in all (Floyd & Rivest 1975), each without a branch that depends on the
// data. All keys differ (the index breaks ties), so which particles stand on either side does not depend on
// the method.
#pragma once

#include "tree/build.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace graft::tree::detail {

template <int axis>
bool stands_before(const Workspace::Point& a, const Workspace::Point& b) {
    const double left = a.position[axis], right = b.position[axis];
    return (left < right) | ((left == right) & (a.index < b.index));
}

/// Partitions about points[pivot]; returns where it ends.
template <int axis>
int64_t partition_about(Workspace::Point* points, int64_t count, int64_t pivot) {
    std::swap(points[pivot], points[count - 1]);
    const Workspace::Point value = points[count - 1];
    int64_t less = 0;
    for (int64_t i = 0; i < count - 1; ++i) {
        const Workspace::Point point = points[i];
        points[i] = points[less];
        points[less] = point;
        less += stands_before<axis>(point, value);
    }
    std::swap(points[less], points[count - 1]);
    return less;
}

/// Index of a sampled point whose rank is a little to the inner side of `rank`.
template <int axis>
int64_t sample_pivot(const Workspace::Point* points, int64_t count, int64_t rank) {
    constexpr int64_t most = 256;
    const int64_t size = count >= 16384 ? most : (count >= 1024 ? 64 : 16);
    int64_t sample[most];
    for (int64_t i = 0; i < size; ++i)
        sample[i] = (2 * i + 1) * count / (2 * size);
    const double share = static_cast<double>(rank) / static_cast<double>(count);
    const double scatter = std::sqrt(share * (1 - share) * static_cast<double>(size)) + 0.5;
    const double wanted = share * static_cast<double>(size) + (share < 0.5 ? scatter : -scatter);
    const int64_t nth = std::clamp<int64_t>(static_cast<int64_t>(wanted), 0, size - 1);
    std::nth_element(sample, sample + nth, sample + size,
                     [&](int64_t a, int64_t b) { return stands_before<axis>(points[a], points[b]); });
    return sample[nth];
}

/// points[rank] becomes the one of that rank; 0 <= rank < count. Expected cost O(count).
template <int axis>
void select(Workspace::Point* points, int64_t rank, int64_t count) {
    constexpr int64_t few = 96;
    for (int round = 0; count > few && round < 64; ++round) {
        const int64_t at = partition_about<axis>(points, count, sample_pivot<axis>(points, count, rank));
        if (at == rank)
            return;
        if (rank < at) {
            count = at;
        } else {
            points += at + 1;
            rank -= at + 1;
            count -= at + 1;
        }
    }
    std::nth_element(points, points + rank, points + count, stands_before<axis>);
}

} // namespace graft::tree::detail
