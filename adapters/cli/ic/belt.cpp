// SPDX-License-Identifier: BSD-3-Clause
// The main asteroid belt by published distributions of elements.
//
// a: uniform between the edges, with Kirkwood gaps at the 4:1, 3:1, 5:2, 7:3 and 2:1 resonances with Jupiter
// (2.065, 2.502, 2.825, 2.958, 3.279 AU; Moons 1996): Gaussian dips of half-widths about 0.02 AU. e:
// Rayleigh, mean 0.145, below 0.4; i: Rayleigh, mean 8 degrees, below 35 (fits to the numbered asteroids, as
// in Malhotra & Wang 2017, MNRAS 465, 4381). Other angles uniform. H: N(<H) ~ 10^(0.5 H) between the given
// limits (Gladman et al. 2009, Icarus 202, 104). Albedos: dark (0.06) share 0.35 inside 2.5 AU, 0.60 to 2.82
// AU, 0.80 beyond, moderate (0.18) and bright (0.30) ones the rest (DeMeo & Carry 2014, Nature 505, 629).
// Masses by the rule for missing masses of tables.
#include "ic/initial_conditions.hpp"
#include "ic/kepler.hpp"
#include "ic/random.hpp"
#include "ic/solar_system.hpp"

#include <cmath>
#include <numbers>

namespace graft::cli {

namespace {

constexpr double degree = std::numbers::pi / 180.0;
constexpr double rayleigh_mean = 1.2533141373155001; // of mode 1

const struct {
    double place_au, width_au, depth;
} gaps[] = {{2.065, 0.012, 0.95},
            {2.502, 0.018, 0.95},
            {2.825, 0.014, 0.90},
            {2.958, 0.010, 0.85},
            {3.279, 0.025, 0.95}};

double survival(double a) {
    double share = 1.0;
    for (const auto& gap : gaps) {
        const double offset = (a - gap.place_au) / gap.width_au;
        share *= 1.0 - gap.depth * std::exp(-0.5 * offset * offset);
    }
    return share;
}

double draw_semi_major(const BeltOptions& o, Random& random) {
    for (;;) {
        const double a = random.uniform(o.inner_au, o.outer_au);
        if (random.uniform() < survival(a)) {
            return a;
        }
    }
}

double draw_below(double mean, double limit, Random& random) {
    for (;;) {
        const double value = random.rayleigh(mean / rayleigh_mean);
        if (value < limit) {
            return value;
        }
    }
}

// The inverse of N(<H) ~ 10^(0.5 H) between the limits.
double draw_magnitude(const BeltOptions& o, Random& random) {
    const double faint_end = std::pow(10.0, 0.5 * (o.brightest_magnitude - o.faintest_magnitude));
    return o.faintest_magnitude + 2.0 * std::log10(random.uniform(faint_end, 1.0));
}

double draw_albedo(double a, Random& random) {
    const double dark_share = a < 2.5 ? 0.35 : a < 2.82 ? 0.60 : 0.80;
    const double u = random.uniform();
    return u < dark_share ? 0.06 : u < dark_share + 0.75 * (1.0 - dark_share) ? 0.18 : 0.30;
}

OrbitRow draw_asteroid(const BeltOptions& o, std::size_t index) {
    Random random(o.seed, 20, index);
    OrbitRow row;
    row.semi_major_au = draw_semi_major(o, random);
    row.eccentricity = draw_below(0.145, 0.4, random);
    row.inclination_deg = draw_below(8.0, 35.0, random);
    row.node_deg = random.uniform(0.0, 360.0);
    row.pericentre_deg = random.uniform(0.0, 360.0);
    row.mean_anomaly_deg = random.uniform(0.0, 360.0);
    row.absolute_magnitude = draw_magnitude(o, random);
    row.albedo = draw_albedo(row.semi_major_au, random);
    return row;
}

void check_options(const BeltOptions& o) {
    require_option(o.n <= 100000000, "belt", "n", "at most 100000000", static_cast<double>(o.n));
    require_option(o.inner_au > 0.1 && o.inner_au < o.outer_au, "belt", "inner",
                   "above 0.1 AU, below the outer edge", o.inner_au);
    require_option(o.outer_au <= 1000.0, "belt", "outer", "at most 1000 AU", o.outer_au);
    require_option(o.brightest_magnitude < o.faintest_magnitude, "belt", "brightest-magnitude",
                   "below the faintest magnitude", o.brightest_magnitude);
}

} // namespace

Snapshot make_belt(const std::vector<OrbitRow>& rows, const BeltOptions& o) {
    check_options(o);
    Snapshot s = make_orbits(rows, o.orbits);
    const std::size_t begin = s.size();
    s.resize(begin + o.n);
    const Barycentre centre = barycentre(s, 0, 1); // the Sun
    const double mass_unit_kg = s.units.mass_kg;
    for (std::size_t k = 0; k < o.n; ++k) {
        const std::size_t i = begin + k;
        const OrbitRow row = draw_asteroid(o, k);
        s.mass[i] = mass_of_row_kg(row) / mass_unit_kg;
        s.component[i] = static_cast<std::int32_t>(Component::Boundary);
        const OrbitalElements elements{row.semi_major_au,
                                       row.eccentricity,
                                       row.inclination_deg * degree,
                                       row.node_deg * degree,
                                       row.pericentre_deg * degree,
                                       row.mean_anomaly_deg * degree};
        const OrbitalState state =
            state_of(elements, s.units.gravitational_constant * (centre.mass + s.mass[i]));
        s.x[i] = centre.position[0] + state.position[0];
        s.y[i] = centre.position[1] + state.position[1];
        s.z[i] = centre.position[2] + state.position[2];
        s.vx[i] = centre.velocity[0] + state.velocity[0];
        s.vy[i] = centre.velocity[1] + state.velocity[1];
        s.vz[i] = centre.velocity[2] + state.velocity[2];
    }
    move_to_barycentre(s, 0, s.size());
    s.attributes["model"] = "belt";
    s.attributes["seed"] = std::to_string(o.seed);
    s.attributes["asteroids"] = std::to_string(o.n);
    return s;
}

} // namespace graft::cli
