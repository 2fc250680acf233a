// SPDX-License-Identifier: BSD-3-Clause
// A periodic box: three edge vectors a = (ax, 0, 0), b = (bx, by, 0), c = (cx, cy, cz) from a lower corner,
// as LAMMPS has them (bx, cx, cy = its tilts xy, xz, yz).
#pragma once

#include "geometry/box.hpp"

namespace graft::geometry {

struct Lattice {
    double lower[3] = {0, 0, 0};
    double edge[3] = {1, 1, 1}; // ax, by, cz > 0
    double xy = 0, xz = 0, yz = 0;

    bool operator==(const Lattice&) const = default;
    GRAFT_HD double volume() const { return edge[0] * edge[1] * edge[2]; }
    GRAFT_HD bool orthogonal() const { return xy == 0 && xz == 0 && yz == 0; }

    /// i a + j b + k c.
    GRAFT_HD Vec3 shift(double i, double j, double k) const {
        return {i * edge[0] + j * xy + k * xz, j * edge[1] + k * yz, k * edge[2]};
    }
    /// Coordinates of a point in units of the edges, from the lower corner.
    GRAFT_HD Vec3 fractions(double x, double y, double z) const {
        const double k = (z - lower[2]) / edge[2];
        const double j = (y - lower[1] - k * yz) / edge[1];
        return {(x - lower[0] - j * xy - k * xz) / edge[0], j, k};
    }
    /// Wave vector (times 2 pi) of the integers (i, j, k): its product with a shift is whole.
    GRAFT_HD Vec3 reciprocal(double i, double j, double k) const {
        const double x = i / edge[0];
        const double y = (j - x * xy) / edge[1];
        return {x, y, (k - x * xz - y * yz) / edge[2]};
    }
    /// Distance between the two faces that the edge vector `axis` goes across.
    GRAFT_HD double width(int axis) const {
        const Vec3 g = reciprocal(axis == 0, axis == 1, axis == 2);
        return 1 / std::sqrt(g.x * g.x + g.y * g.y + g.z * g.z);
    }
    /// Moves a point by a lattice vector into the box (to rounding: onto a face at worst), not along the axis
    /// `open`. Points inside keep their bits.
    GRAFT_HD void wrap(double& x, double& y, double& z, int open = -1) const {
        const Vec3 f = fractions(x, y, z);
        const Vec3 s = shift(open == 0 ? 0 : std::floor(f.x), open == 1 ? 0 : std::floor(f.y),
                             open == 2 ? 0 : std::floor(f.z));
        x -= s.x;
        y -= s.y;
        z -= s.z;
    }
};

} // namespace graft::geometry
