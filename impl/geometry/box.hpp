// SPDX-License-Identifier: BSD-3-Clause
// Points and axis-aligned boxes in double precision; 2-D data have z = 0 everywhere.
#pragma once

#include "core/host_device.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace graft::geometry {

struct Vec3 {
    double x = 0, y = 0, z = 0;
    double& operator[](int axis) { return (&x)[axis]; }
    double operator[](int axis) const { return (&x)[axis]; }
};

/// std::min and std::max (of equals the first), on the device too.
GRAFT_HD constexpr double smaller(double a, double b) {
    return b < a ? b : a;
}
GRAFT_HD constexpr double larger(double a, double b) {
    return a < b ? b : a;
}
/// std::clamp, also where nothing is between: in an empty box.
GRAFT_HD constexpr double between(double x, double lower, double upper) {
    return x < lower ? lower : (upper < x ? upper : x);
}

struct Box {
    double lower[3] = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
                       std::numeric_limits<double>::infinity()};
    double upper[3] = {-std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                       -std::numeric_limits<double>::infinity()};

    GRAFT_HD bool empty() const { return !(lower[0] <= upper[0]); }
    GRAFT_HD bool holds(double x, double y, double z) const {
        return lower[0] <= x && x <= upper[0] && lower[1] <= y && y <= upper[1] && lower[2] <= z && z <= upper[2];
    }
    GRAFT_HD void include(double x, double y, double z) {
        lower[0] = smaller(lower[0], x);
        upper[0] = larger(upper[0], x);
        lower[1] = smaller(lower[1], y);
        upper[1] = larger(upper[1], y);
        lower[2] = smaller(lower[2], z);
        upper[2] = larger(upper[2], z);
    }
    GRAFT_HD void include(const Box& other) {
        for (int a = 0; a < 3; ++a) {
            lower[a] = smaller(lower[a], other.lower[a]);
            upper[a] = larger(upper[a], other.upper[a]);
        }
    }
    GRAFT_HD double edge(int axis) const { return upper[axis] - lower[axis]; }
    GRAFT_HD double longest_edge() const { return larger(larger(edge(0), edge(1)), edge(2)); }
    GRAFT_HD int longest_axis() const {
        const double x = edge(0), y = edge(1), z = edge(2);
        return x >= y && x >= z ? 0 : (y >= z ? 1 : 2);
    }
    /// Distance from a point to the corner furthest from it; no point of the box is further away.
    GRAFT_HD double furthest(const double (&point)[3]) const {
        double square = 0;
        for (int a = 0; a < 3; ++a) {
            const double far = larger(point[a] - lower[a], upper[a] - point[a]);
            square += far * far;
        }
        return std::sqrt(square);
    }
    GRAFT_HD double centre(int axis) const { return 0.5 * lower[axis] + 0.5 * upper[axis]; }
};

} // namespace graft::geometry
