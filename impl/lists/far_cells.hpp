// SPDX-License-Identifier: BSD-3-Clause
// Which accepted cells are so far away, compared with a group, that their field over the whole group may be
// one polynomial about the group's centre (forces/m2l/m2l.hpp): the body that host and device share.
//
// A cell of sum |q| = m at distance d from the centre of a group of radius r: the first term that its
// polynomial of degree N leaves out is about m (r/d)^N / d^2. With the error MAC a cell's own error may be
// accuracy * a_g = factor^-(p+3); a share of that is what the polynomial may add. With q = d^2 / r^2 that is
// m <= limit r^2 q^(N/2 + 1), or its square: no quotient, no root and no power but q's. No fused
// multiply-adds: the same bits on host and device.
#pragma once

#include "core/host_device.hpp"
#include "lists/targets.hpp"

#include <cmath>
#include <cstdint>

namespace graft::lists {

/// The share, chosen so that median and 99th percentile of the error stay what they are without polynomials,
/// within 5 %, on Plummer spheres, cubes, clusters and galaxies (docs/lab/local.md). The higher the
/// order, the further a typical cell's error is below what it may be, and so must the polynomial's be.
GRAFT_HD constexpr double far_share(int order) {
    return order == 0 ? 0.005 : (order == 1 ? 0.04 : (order == 2 ? 0.012 : (order == 3 ? 0.012 : 0.004)));
}
/// Least d^2 / r^2, whatever the masses.
inline constexpr double far_least_ratio = 2;
/// A polynomial of fewer targets costs more than it saves.
inline constexpr int64_t least_far_targets = 8;

/// The far side of one group.
struct FarLimit {
    double centre[3];
    double inverse_square; // 1 / r^2; infinite for targets at one place
    double error;          // that a cell's polynomial may have, times r^2
    int32_t degree;        // N
};

/// `order` is the cells', `degree` that of the polynomial.
GRAFT_HD inline FarLimit far_limit(const Target& target, int order, int degree) {
    FarLimit limit;
    double square = 0;
    for (int a = 0; a < 3; ++a) {
        const double half = 0.5 * target.box.upper[a] - 0.5 * target.box.lower[a];
        limit.centre[a] = 0.5 * target.box.lower[a] + 0.5 * target.box.upper[a];
        square += half * half;
    }
    const double inverse = 1 / target.factor;
    limit.inverse_square = 1 / square;
    limit.error = far_share(order) * square;
    for (int k = 0; k < order + 3; ++k)
        limit.error *= inverse;
    limit.degree = degree;
    return limit;
}

/// Whether a cell of sum |q| = magnitude about (x, y, z) is far. Targets at one place: never, as 0 times
/// infinity is no number.
GRAFT_HD inline bool is_far(const FarLimit& limit, double magnitude, double x, double y, double z) {
    const double dx = x - limit.centre[0], dy = y - limit.centre[1], dz = z - limit.centre[2];
    const double ratio = (dx * dx + dy * dy + dz * dz) * limit.inverse_square;
    double most = limit.error * ratio;
    for (int k = 0; k < limit.degree / 2; ++k)
        most *= ratio;
    if (limit.degree % 2 != 0)
        return ratio >= far_least_ratio && magnitude * magnitude <= most * most * ratio;
    return ratio >= far_least_ratio && magnitude <= most;
}

/// Puts the far entries of a list last; returns where they begin. The order is the same every time.
template <class IsFar>
inline int32_t* put_far_last(int32_t* begin, int32_t* end, const IsFar& far_of) {
    int32_t* near = begin;
    for (int32_t* entry = begin; entry != end; ++entry) { // no branch: it would be guessed wrong too often
        const int32_t k = *entry, other = *near;
        const bool far = far_of(k);
        *near = far ? other : k;
        *entry = far ? k : other;
        near += far ? 0 : 1;
    }
    return near;
}

} // namespace graft::lists
