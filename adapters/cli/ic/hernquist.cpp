// SPDX-License-Identifier: BSD-3-Clause
// Hernquist's sphere (1990, ApJ 356, 359): M(r) = M r^2/(r+a)^2, speeds from his equation 17 for f(E).
#include "ic/initial_conditions.hpp"
#include "ic/random.hpp"
#include "snapshot/metadata.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace graft::cli {

namespace {

// f(q) without its constant; q = sqrt(-E a / G M), in (0, 1).
double distribution(double q) {
    const double room = 1.0 - q * q;
    if (q < 0.02) { // the terms cancel down to q^5: their series
        return q * q * q * q * q * (128.0 / 5.0) * (1.0 - q * q * (15.0 / 14.0)) / std::pow(room, 2.5);
    }
    const double polynomial =
        q * std::sqrt(room) * (1.0 - 2.0 * q * q) * (8.0 * q * q * q * q - 8.0 * q * q - 3.0);
    return (3.0 * std::asin(q) + polynomial) / std::pow(room, 2.5);
}

// Speed over escape speed at dimensionless depth psi = 1/(1+r): density u^2 f(psi (1 - u^2)), inverted
// numerically.
double speed_fraction(double psi, Random& random) {
    constexpr int steps = 128;
    std::array<double, steps + 1> cumulative{};
    double last = 0.0;
    for (int k = 1; k <= steps; ++k) {
        const double u = static_cast<double>(k) / steps;
        const double here = k == steps ? 0.0 : u * u * distribution(std::sqrt(psi * (1.0 - u * u)));
        cumulative[static_cast<std::size_t>(k)] =
            cumulative[static_cast<std::size_t>(k - 1)] + 0.5 * (last + here);
        last = here;
    }
    const double target = random.uniform() * cumulative[steps];
    const auto above = std::upper_bound(cumulative.begin() + 1, cumulative.end() - 1, target);
    const double width = *above - *(above - 1);
    const double part = width > 0.0 ? (target - *(above - 1)) / width : 0.5;
    return (static_cast<double>(above - cumulative.begin() - 1) + part) / steps;
}

} // namespace

Snapshot make_hernquist(const HernquistOptions& o) {
    require_option(o.mass >= 0.0, "hernquist", "mass", "0 or more", o.mass);
    require_option(o.scale_radius > 0.0, "hernquist", "scale-radius", "a positive length", o.scale_radius);
    require_option(o.mass_fraction > 0.0 && o.mass_fraction <= 1.0, "hernquist", "mass-fraction",
                   "above 0, at most 1", o.mass_fraction);
    Snapshot s;
    s.resize(o.n);
    for (std::size_t i = 0; i < o.n; ++i) {
        Random random(o.seed, 4, i);
        const double root = std::sqrt(o.mass_fraction * random.uniform());
        const double r = root / (1.0 - root); // in scale radii
        random.direction(r * o.scale_radius, s.x[i], s.y[i], s.z[i]);
        const double psi = 1.0 / (1.0 + r);
        const double escape = std::sqrt(2.0 * o.mass / o.scale_radius * psi);
        random.direction(speed_fraction(psi, random) * escape, s.vx[i], s.vy[i], s.vz[i]);
        s.mass[i] = o.mass / static_cast<double>(o.n);
    }
    // Only the momentum is removed: the far tail would pull the barycentre away from the cusp by a fair part
    // of a.
    const Barycentre drift = barycentre(s, 0, o.n > 1 ? s.size() : 0);
    for (std::size_t i = 0; i < o.n; ++i) {
        s.vx[i] -= drift.velocity[0];
        s.vy[i] -= drift.velocity[1];
        s.vz[i] -= drift.velocity[2];
    }
    s.suggested_softening = o.n == 0 ? 0.0 : 0.5 * o.scale_radius * std::pow(static_cast<double>(o.n), -0.35);
    s.suggested_time_step = o.mass > 0.0 ? 0.005 * std::sqrt(std::pow(o.scale_radius, 3.0) / o.mass) : 0.0;
    s.attributes = {{"model", "hernquist"},
                    {"seed", std::to_string(o.seed)},
                    {"scale_radius", number_text(o.scale_radius)},
                    {"mass_fraction", number_text(o.mass_fraction)}};
    return s;
}

} // namespace graft::cli
