// SPDX-License-Identifier: BSD-3-Clause
// Plummer's sphere: Aarseth, Henon & Wielen 1974, A&A 37, 183: radii by inverting M(r), speeds from
// g(q) = q^2 (1 - q^2)^(7/2) with q = v / v_escape.
#include "ic/initial_conditions.hpp"
#include "ic/random.hpp"
#include "snapshot/metadata.hpp"

#include <cmath>

namespace graft::cli {

namespace {

// Rejection under the constant 0.1 (the maximum of g is 0.0924).
double speed_fraction(Random& random) {
    for (;;) {
        const double q = random.uniform();
        const double room = 1.0 - q * q;
        const double density = q * q * room * room * room * std::sqrt(room);
        if (0.1 * random.uniform() < density) {
            return q;
        }
    }
}

} // namespace

Snapshot make_plummer(const PlummerOptions& o) {
    require_option(o.mass >= 0.0, "plummer", "mass", "0 or more", o.mass);
    require_option(o.scale_radius > 0.0, "plummer", "scale-radius", "a positive length", o.scale_radius);
    require_option(o.mass_fraction > 0.0 && o.mass_fraction <= 1.0, "plummer", "mass-fraction",
                   "above 0, at most 1", o.mass_fraction);
    Snapshot s;
    s.resize(o.n);
    for (std::size_t i = 0; i < o.n; ++i) {
        Random random(o.seed, 3, i);
        const double enclosed = o.mass_fraction * random.uniform();
        const double r = 1.0 / std::sqrt(std::pow(enclosed, -2.0 / 3.0) - 1.0); // in scale radii
        random.direction(r * o.scale_radius, s.x[i], s.y[i], s.z[i]);
        const double escape = std::sqrt(2.0 * o.mass / o.scale_radius) * std::pow(1.0 + r * r, -0.25);
        random.direction(speed_fraction(random) * escape, s.vx[i], s.vy[i], s.vz[i]);
        s.mass[i] = o.mass / static_cast<double>(o.n);
    }
    if (o.n > 1) { // a lone particle stays where the model puts it
        move_to_barycentre(s, 0, s.size());
    }
    s.suggested_softening =
        o.n == 0 ? 0.0 : o.scale_radius * std::pow(static_cast<double>(o.n), -0.26); // Athanassoula 2000
    s.suggested_time_step = o.mass > 0.0 ? 0.01 * std::sqrt(std::pow(o.scale_radius, 3.0) / o.mass) : 0.0;
    s.attributes = {{"model", "plummer"},
                    {"seed", std::to_string(o.seed)},
                    {"scale_radius", number_text(o.scale_radius)},
                    {"mass_fraction", number_text(o.mass_fraction)}};
    return s;
}

} // namespace graft::cli
