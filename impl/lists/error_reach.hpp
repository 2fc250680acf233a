// SPDX-License-Identifier: BSD-3-Clause
// How far a node's force error reaches: the node's side of the force-error MAC, on CPU and GPU.
#pragma once

#include "core/host_device.hpp"

#include <cmath>

namespace graft::lists {

/// S^(1/(p+3)) of a node whose force error at distance d is about S / d^(p+3): S = sum |q| r^(p+1), bounded
/// by spread * radius^(p-1) for p >= 1 and sqrt(sum |q| * spread) for p = 0. Plummer lengths that differ
/// within the node act like as much extent (plummer; else softening and softening_square are not looked at).
/// The roots are taken one by one: S itself leaves double in very small or large units.
GRAFT_HD inline double error_reach(int order, double magnitude, double spread, double radius, bool plummer,
                                   double softening, double softening_square) {
    if (plummer) {
        spread += magnitude * softening_square;
        radius = hypot(radius, softening);
    }
    const double root = 1.0 / (order + 3);
    if (order == 0)
        return pow(magnitude, 0.5 * root) * pow(spread, 0.5 * root);
    return pow(spread, root) * pow(radius, (order - 1) * root);
}

/// sqrt(spread / magnitude), at most the radius, from error_reach() of a node without softening: what other ranks send.
/// Of one with Plummer lengths it is larger than that. Logarithms, since powers leave double in very small or large
/// units.
inline double extent_of_reach(int order, double magnitude, double reach, double radius) {
    if (!(magnitude > 0 && reach > 0 && radius > 0))
        return 0;
    const double s = (order + 3) * std::log(reach), m = std::log(magnitude), r = std::log(radius);
    const double extent = std::exp(order == 0 ? s - m : 0.5 * (s - m - (order - 1) * r));
    return extent < radius ? extent : radius;
}

/// f_g of a group whose acceleration is about `size`: a node's error may be accuracy * size.
GRAFT_HD inline double error_factor(int order, double accuracy, double size) {
    return size > 0 ? pow(accuracy * size, -1.0 / (order + 3)) : 1e30;
}

/// The size that a factor was made of.
inline double size_of_factor(int order, double accuracy, double factor) {
    constexpr double without_field = 1e30; // error_factor()
    return factor >= without_field ? 0 : std::pow(factor, -(order + 3)) / accuracy;
}

} // namespace graft::lists
