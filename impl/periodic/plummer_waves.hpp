// SPDX-License-Identifier: BSD-3-Clause
// What Plummer's softening makes of a wave's weight (ewald_waves.hpp says of what sum), and what is known beside the sums,
// softened or not: the background of a net charge, and a charge's own energy by the waves that are left out. For both compilers.
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

/// exp(x^2) erfc(x), x >= 0.
GRAFT_HD inline double scaled_erfc(double x) {
    return x < 25 ? std::exp(x * x) * std::erfc(x) : 1 / (1.7724538509055160273 * x);
}

/// What a uniform background of charge 1 adds, times the volume: to the potential, and to twice the virial of a unit charge.
struct Background {
    double potential, virial;
};
/// The background takes away what pairs do on average, and pairs end at s = cutoff, s^2 = r^2 + eps^2:
///     potential = - integral of erfc(alpha s) / s over space + the same over s > cutoff,
///     virial    = potential + 4 pi / 3 r^3 erfc(alpha cutoff) / cutoff, r^2 = cutoff^2 - eps^2,
/// since what moves is the end of the pairs, too, when the box is strained. The first integral is pi times that of
/// exp(-eps^2 / w) over w in [0, 1 / alpha^2], w = 1 / (alpha^2 (1 + v)); the second is
///     2 pi / alpha^2 times the integral of sqrt(1 - eps^2 / s^2) erfc(alpha s) over y, alpha^2 s^2 = alpha^2 cutoff^2 + y.
GRAFT_HD inline Background plummer_background(const ExponentialNodes& nodes, double alpha, double eta, double cutoff) {
    constexpr double pi = 3.14159265358979323846;
    const double end = alpha * alpha * cutoff * cutoff;
    if (eta >= end) // no pair
        return {0, 0};
    double whole = eta == 0 ? 1 : 0, beyond = 0;
    for (int i = 0; i < ExponentialNodes::count; ++i) {
        const double y = nodes.y[i], square = end + y;
        if (eta > 0)
            whole += nodes.weight[i] * std::exp(-eta) / eta / ((1 + y / eta) * (1 + y / eta));
        beyond += nodes.weight[i] * std::sqrt(1 - eta / square) * scaled_erfc(std::sqrt(square));
    }
    const double unit = pi / (alpha * alpha), potential = unit * (2 * std::exp(-end) * beyond - whole);
    const double at_end = std::sqrt(1 - eta / end);
    return {potential, potential + 4 * pi / 3 * cutoff * cutoff * at_end * at_end * at_end * std::erfc(std::sqrt(end))};
}

/// What a sum over the waves up to |k| = `largest` lacks of a unit charge's own energy, and of that energy's strain derivative
/// (xx yy zz xy xz yz): pairs take off all of what a charge does to itself. In place of the waves beyond an integral, V / 8 pi^3
/// times that of their weights w over k, which is, with w in the form of ewald_waves.hpp and kappa = largest^2 / 4 alpha^2,
///     2 exp(-kappa) / (pi largest^2) times the integral of
///     exp(-y - eps^2 / w) (2 largest / w + 2 sqrt(pi / w^3) exp(z^2) erfc(z)) over y > 0,
///     w = (1 + y / kappa) / alpha^2, z^2 = kappa + y;
/// the derivative is what leaves through the sphere's surface, V k^3 w(k) / 6 pi^2. Halves of both are the energy's.
struct OwnTerms {
    double energy, virial[6];
};
GRAFT_HD inline OwnTerms own_terms_beyond(const ExponentialNodes& nodes, double alpha, double eta, double largest) {
    constexpr double pi = 3.14159265358979323846;
    if (!(largest > 0))
        return {};
    const double kappa = largest * largest / (4 * alpha * alpha), decay = std::exp(-kappa);
    double sum = 0, factor = 0;
    for (int i = 0; i < ExponentialNodes::count; ++i) {
        const double stretch = 1 + nodes.y[i] / kappa, root = std::sqrt(stretch) / alpha, w = root * root;
        const double value = nodes.weight[i] * std::exp(-eta / stretch);
        sum += value * (2 * largest / w + 2 * std::sqrt(pi) / (w * root) * scaled_erfc(std::sqrt(kappa + nodes.y[i])));
        factor += value;
    }
    const double surface = largest * decay * factor / (3 * pi);
    return {decay * sum / (pi * largest * largest), {surface, surface, surface, 0, 0, 0}};
}

} // namespace graft::periodic
