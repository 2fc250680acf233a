// SPDX-License-Identifier: BSD-3-Clause
// Keys along a space-filling curve in the root cube of all points: its lower corner is theirs, its edge the
// longest of their box. Works for every finite box.
#pragma once

#include "decompose/decompose.hpp"
#include "geometry/hilbert.hpp"

#include <algorithm>
#include <cmath>

namespace graft::decompose {

class CurveFrame {
  public:
    /// box: of all points; empty: any keys do.
    CurveFrame(const geometry::Box& box, int dimension, Curve curve)
        : CurveFrame(box, dimension, curve, std::isfinite(box.longest_edge()) || box.empty() ? 1.0 : 0.5) {}

    /// Below 2^63 (3-D) or 2^62 (2-D).
    uint64_t key(double x, double y, double z) const {
        const uint64_t morton = frame_.key(x * scale_, y * scale_, z * scale_);
        return curve_ == Curve::hilbert ? geometry::hilbert_from_morton(morton, dimension_) : morton;
    }
    uint64_t last_key() const { return (uint64_t{1} << (dimension_ * geometry::key_levels(dimension_))) - 1; }

  private:
    CurveFrame(const geometry::Box& box, int dimension, Curve curve, double scale)
        : dimension_(dimension), curve_(curve), scale_(scale),
          frame_(corner(box, scale).data(), edge(box, dimension, scale), dimension) {}
    static std::array<double, 3> corner(const geometry::Box& box, double scale) {
        if (box.empty())
            return {0, 0, 0};
        return {box.lower[0] * scale, box.lower[1] * scale, box.lower[2] * scale};
    }
    static double edge(const geometry::Box& box, int dimension, double scale) {
        double longest = 1e-290; // coincident points: any edge that has a reciprocal
        for (int a = 0; a < dimension && !box.empty(); ++a)
            longest = std::max(longest, box.upper[a] * scale - box.lower[a] * scale);
        return longest;
    }

    int dimension_;
    Curve curve_;
    double scale_;
    geometry::KeyFrame frame_;
};

} // namespace graft::decompose
