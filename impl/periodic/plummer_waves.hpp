// SPDX-License-Identifier: BSD-3-Clause
// What Plummer's softening makes of a wave's weight (ewald_waves.hpp says of what sum), for both compilers.
//
// Over the integral of exp(-y) f(y), y > 0: with eta = (eps alpha)^2, kappa = k^2 / 4 alpha^2 the weight is
// multiplied by that of f = exp(-eta / (1 + y / kappa)). The nodes y = exp(t - exp(-t)) at equal steps of t
// let the integrand end as fast on both sides, and are good to rounding. Source: Takahasi & Mori 1974.
#pragma once

#include "core/host_device.hpp"

#include <cmath>

namespace graft::periodic {

struct ExponentialNodes {
    static constexpr int count = 144;
    double y[count], weight[count]; // the weights hold exp(-y)
};
/// The ones there are.
const ExponentialNodes& exponential_nodes();

/// The factor of one wave's weight, and the integral that makes its slope: -d/d(k^2) of the weight over the
/// weight is moment / (4 alpha^2 factor).
struct PlummerWave {
    double factor, moment;
};
GRAFT_HD inline PlummerWave plummer_wave(const ExponentialNodes& nodes, double eta, double kappa) {
    PlummerWave sum{0, 0};
    for (int i = 0; i < ExponentialNodes::count; ++i) {
        const double w = 1 + nodes.y[i] / kappa, value = nodes.weight[i] * std::exp(-eta / w);
        sum.factor += value;
        sum.moment += value * w;
    }
    return sum;
}

/// What a uniform background of charge 1 adds to the potential, times the volume: minus the integral of
/// erfc(alpha s) / s, which is -pi times that of exp(-eps^2 / w) over w in [0, 1 / alpha^2]; w = 1 / (alpha^2
/// (1 + v)).
GRAFT_HD inline double plummer_background(const ExponentialNodes& nodes, double alpha, double eta) {
    const double whole = 3.14159265358979323846 / (alpha * alpha);
    if (eta == 0)
        return -whole;
    double sum = 0;
    for (int i = 0; i < ExponentialNodes::count; ++i) {
        const double w = 1 + nodes.y[i] / eta;
        sum += nodes.weight[i] / (w * w);
    }
    return -whole * std::exp(-eta) / eta * sum;
}

} // namespace graft::periodic
