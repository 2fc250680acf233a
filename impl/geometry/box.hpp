// Points and axis-aligned boxes in double precision; 2-D data have z = 0 everywhere.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace graft::geometry {

struct Vec3 {
    double x = 0, y = 0, z = 0;
    double& operator[](int axis) { return (&x)[axis]; }
    double operator[](int axis) const { return (&x)[axis]; }
};

struct Box {
    double lower[3] = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
                       std::numeric_limits<double>::infinity()};
    double upper[3] = {-std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                       -std::numeric_limits<double>::infinity()};

    bool empty() const { return !(lower[0] <= upper[0]); }
    void include(double x, double y, double z) {
        lower[0] = std::min(lower[0], x), upper[0] = std::max(upper[0], x);
        lower[1] = std::min(lower[1], y), upper[1] = std::max(upper[1], y);
        lower[2] = std::min(lower[2], z), upper[2] = std::max(upper[2], z);
    }
    void include(const Box& other) {
        for (int a = 0; a < 3; ++a) {
            lower[a] = std::min(lower[a], other.lower[a]);
            upper[a] = std::max(upper[a], other.upper[a]);
        }
    }
    double edge(int axis) const { return upper[axis] - lower[axis]; }
    double longest_edge() const { return std::max({edge(0), edge(1), edge(2)}); }
    int longest_axis() const {
        const double x = edge(0), y = edge(1), z = edge(2);
        return x >= y && x >= z ? 0 : (y >= z ? 1 : 2);
    }
    /// Distance from a point to the corner furthest from it; no point of the box is further away.
    double furthest(const double (&point)[3]) const {
        double square = 0;
        for (int a = 0; a < 3; ++a) {
            const double far = std::max(point[a] - lower[a], upper[a] - point[a]);
            square += far * far;
        }
        return std::sqrt(square);
    }
    double centre(int axis) const { return 0.5 * lower[axis] + 0.5 * upper[axis]; }
};

} // namespace graft::geometry
