// SPDX-License-Identifier: BSD-3-Clause
// The cube and the cold sphere, and the option check that all makers share.
#include "ic/initial_conditions.hpp"
#include "ic/random.hpp"
#include "snapshot/error.hpp"
#include "snapshot/metadata.hpp"

#include <cmath>

namespace graft::cli {

void require_option(bool ok, const char* maker, const char* option, const char* allowed, double found) {
    if (!ok) {
        throw Error({std::string("option '") + option + "' is out of range", std::string("ic ") + maker,
                     allowed, number_text(found), ""});
    }
}

namespace {

double spacing_softening(double volume, std::size_t n) {
    return n == 0 ? 0.0 : 0.05 * std::cbrt(volume / static_cast<double>(n));
}

// A time scale of the whole: 1/100 of 1/sqrt(G rho).
double free_fall_step(double mass, double volume) {
    return mass > 0.0 ? 0.01 * std::sqrt(volume / mass) : 0.0;
}

} // namespace

Snapshot make_cube(const CubeOptions& o) {
    require_option(o.edge > 0.0, "cube", "edge", "a positive length", o.edge);
    require_option(o.mass >= 0.0, "cube", "mass", "0 or more", o.mass);
    Snapshot s;
    s.resize(o.n);
    for (std::size_t i = 0; i < o.n; ++i) {
        Random random(o.seed, 1, i);
        s.x[i] = random.uniform(0.0, o.edge);
        s.y[i] = random.uniform(0.0, o.edge);
        s.z[i] = random.uniform(0.0, o.edge);
        s.mass[i] = o.mass / static_cast<double>(o.n);
    }
    s.box_size = o.periodic ? o.edge : 0.0;
    s.suggested_softening = spacing_softening(o.edge * o.edge * o.edge, o.n);
    s.suggested_time_step = free_fall_step(o.mass, o.edge * o.edge * o.edge);
    s.attributes = {{"model", "cube"}, {"seed", std::to_string(o.seed)}};
    return s;
}

Snapshot make_cold_sphere(const ColdSphereOptions& o) {
    require_option(o.radius > 0.0, "cold-sphere", "radius", "a positive length", o.radius);
    require_option(o.mass >= 0.0, "cold-sphere", "mass", "0 or more", o.mass);
    require_option(o.virial_ratio >= 0.0, "cold-sphere", "virial-ratio", "0 or more", o.virial_ratio);
    // 2K = 3 M sigma^2 = ratio * (3/5) G M^2 / R
    const double sigma = std::sqrt(o.virial_ratio * o.mass / (5.0 * o.radius));
    Snapshot s;
    s.resize(o.n);
    for (std::size_t i = 0; i < o.n; ++i) {
        Random random(o.seed, 2, i);
        random.direction(o.radius * std::cbrt(random.uniform()), s.x[i], s.y[i], s.z[i]);
        s.mass[i] = o.mass / static_cast<double>(o.n);
        if (sigma > 0.0) {
            s.vx[i] = sigma * random.normal();
            s.vy[i] = sigma * random.normal();
            s.vz[i] = sigma * random.normal();
        }
    }
    move_to_barycentre(s, 0, s.size());
    const double volume = 4.18879020478639 * o.radius * o.radius * o.radius;
    s.suggested_softening = spacing_softening(volume, o.n);
    s.suggested_time_step = free_fall_step(o.mass, volume);
    s.attributes = {{"model", "cold-sphere"},
                    {"seed", std::to_string(o.seed)},
                    {"virial_ratio", number_text(o.virial_ratio)}};
    return s;
}

} // namespace graft::cli
