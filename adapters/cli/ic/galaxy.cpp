// SPDX-License-Identifier: BSD-3-Clause
// A disc, bulge and halo in mutual equilibrium.
//
// Bulge and halo: Hernquist profiles with a smooth cut, isotropic, speeds from Eddington's formula in the
// potential of all three parts (the disc counted by its spherical average). Disc: exponential, sech^2;
// vertical dispersion from the vertical Jeans equation in the full field; radial dispersion sigma_R^2 ~
// exp(-R/R_d) with Toomre's Q given at 2 R_d; azimuthal dispersion by the epicyclic ratio, mean rotation less
// the asymmetric drift (Hernquist 1993, ApJS 86, 389; Binney & Tremaine 2008, 4.4.3). All potentials carry
// the softening that the run will use. Radii are stratified (one particle per equal share of mass), so that
// the start is quieter than random, and velocities are spread evenly over their distributions. G = 1.
#include "ic/disc_field.hpp"
#include "ic/initial_conditions.hpp"
#include "ic/random.hpp"
#include "ic/spherical_equilibrium.hpp"
#include "snapshot/metadata.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace graft::cli {

namespace {

constexpr double disc_edge = 10.0;    // in R_d: holds 99.95 % of the exponential disc
constexpr double layer_edge = 0.9999; // of tanh(z/z_0): 5 z_0

struct Counts {
    std::size_t disc, bulge, halo;
};

Counts share_particles(const GalaxyOptions& o) {
    const double total = o.disc_mass + o.bulge_mass + o.halo_mass;
    const auto share = [&](double mass) {
        return static_cast<std::size_t>(std::llround(static_cast<double>(o.n) * mass / total));
    };
    Counts counts{share(o.disc_mass), share(o.bulge_mass), 0};
    counts.bulge = std::min(counts.bulge, o.n - std::min(o.n, counts.disc));
    counts.halo = o.n - counts.disc - counts.bulge;
    return counts;
}

void check_options(const GalaxyOptions& o) {
    const struct {
        const char* name;
        double value;
    } lengths[] = {
        {"disc-scale", o.disc_scale}, {"disc-height", o.disc_height}, {"bulge-scale", o.bulge_scale},
        {"bulge-cut", o.bulge_cut},   {"halo-scale", o.halo_scale},   {"halo-cut", o.halo_cut},
        {"disc-mass", o.disc_mass},   {"bulge-mass", o.bulge_mass},   {"halo-mass", o.halo_mass}};
    for (const auto& length : lengths) {
        require_option(length.value > 0.0 && std::isfinite(length.value), "galaxy", length.name,
                       "a positive number", length.value);
    }
    require_option(o.toomre_q >= 0.5 && o.toomre_q <= 5.0, "galaxy", "toomre-q", "0.5 to 5", o.toomre_q);
    require_option(o.softening >= 0.0, "galaxy", "softening", "0 or more", o.softening);
    require_option(o.n >= 10, "galaxy", "n", "10 or more", static_cast<double>(o.n));
}

// Adds the disc's mass to spherical shells: `enclosed` gains the mass within each radius.
void add_disc_shells(const DiscShape& disc, const std::vector<double>& radii, std::vector<double>& enclosed) {
    constexpr int rings = 1000;
    constexpr int layers = 32;
    std::vector<double> shell(radii.size() + 1, 0.0);
    for (int i = 0; i < rings; ++i) {
        const double radius = disc.radius_of_fraction((i + 0.5) / rings);
        for (int j = 0; j < layers; ++j) {
            const double height = disc.height * std::atanh((j + 0.5) / layers);
            const auto at = std::lower_bound(radii.begin(), radii.end(), std::hypot(radius, height));
            shell[static_cast<std::size_t>(at - radii.begin())] += disc.mass / (rings * layers);
        }
    }
    double sum = 0.0;
    for (std::size_t k = 0; k < radii.size(); ++k) {
        sum += shell[k];
        enclosed[k] += sum;
    }
}

std::vector<double> sum_of(const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> result(a);
    std::transform(a.begin(), a.end(), b.begin(), result.begin(), [](double x, double y) { return x + y; });
    return result;
}

// Where a particle stands in the distributions of radius, speed and angle between velocity and radius: shares
// of 0 to 1.
struct Shares {
    double radius, speed, slant;
};

// The k-th of n particles. Radii are stratified; the other two follow a Kronecker sequence (the plastic
// number's), so that every range of radii holds an even sample of orbits: with independent draws the
// half-mass radius of 17,000 particles would move by 1.3 % while the orbits mix.
Shares quiet_shares(std::size_t k, std::size_t n, std::uint64_t seed, std::uint64_t stream) {
    Random shift(seed, stream);
    const double index = static_cast<double>(k);
    const auto sequence = [index](double step, double start) {
        const double value = start + step * index;
        return value - std::floor(value);
    };
    const double speed_start = shift.uniform();
    const double slant_start = shift.uniform();
    const double jitter = Random(seed, stream, k + 1).uniform();
    return {(index + jitter) / static_cast<double>(n), sequence(0.7548776662466927, speed_start),
            sequence(0.5698402909980532, slant_start)};
}

// Outward speed along a unit vector and a tangential one in a random direction across it.
void set_velocity(const double (&outward)[3], double radial, double tangential, Random& random,
                  double* const (&velocity)[3]) {
    double across[3];
    double along = 0.0;
    double length = 0.0;
    do { // a random direction less its outward part
        random.direction(1.0, across[0], across[1], across[2]);
        along = across[0] * outward[0] + across[1] * outward[1] + across[2] * outward[2];
        length = std::sqrt(std::max(0.0, 1.0 - along * along));
    } while (length < 1e-3);
    for (int k = 0; k < 3; ++k) {
        *velocity[k] = radial * outward[k] + tangential * (across[k] - along * outward[k]) / length;
    }
}

// All fields and distribution functions of the model.
class Model {
  public:
    explicit Model(const GalaxyOptions& o)
        : options_(o), disc_{o.disc_mass, o.disc_scale, o.disc_height},
          radii_(logarithmic_radii(1e-3 * std::min(o.bulge_scale, o.disc_scale),
                                   4.0 * std::max({o.halo_cut, o.bulge_cut, 3.0 * o.disc_scale}), 500)),
          bulge_(o.bulge_mass, o.bulge_scale, o.bulge_cut, radii_),
          halo_(o.halo_mass, o.halo_scale, o.halo_cut, radii_),
          spheres_(radii_, sum_of(bulge_.enclosed_mass(), halo_.enclosed_mass()), o.softening),
          everything_(radii_, total_mass(), o.softening), bulge_speeds_(bulge_, everything_),
          halo_speeds_(halo_, everything_), disc_field_(disc_, o.softening, disc_edge * o.disc_scale) {
        const double at = 2.0 * o.disc_scale;
        const double sigma = o.toomre_q * 3.36 * disc_.surface_density(at) / epicyclic(at).kappa;
        central_dispersion_ = sigma * std::exp(0.5 * at / o.disc_scale);
    }

    void place_sphere(Snapshot& s, std::size_t i, bool is_halo, const Shares& shares, Random& random) const {
        const double r = (is_halo ? halo_ : bulge_).radius_of_fraction(shares.radius);
        random.direction(r, s.x[i], s.y[i], s.z[i]);
        const double speed = (is_halo ? halo_speeds_ : bulge_speeds_).speed_of_fraction(r, shares.speed);
        const double outward[3] = {s.x[i] / r, s.y[i] / r, s.z[i] / r};
        double* const velocity[3] = {&s.vx[i], &s.vy[i], &s.vz[i]};
        const double cosine = 2.0 * shares.slant - 1.0;
        set_velocity(outward, speed * cosine, speed * std::sqrt((1.0 - cosine) * (1.0 + cosine)), random,
                     velocity);
    }

    void place_disc(Snapshot& s, std::size_t i, const Shares& shares, Random& random) const {
        const double all = -std::expm1(-disc_edge) - disc_edge * std::exp(-disc_edge);
        const double radius = disc_.radius_of_fraction(shares.radius * all);
        const double angle = random.uniform(0.0, 2.0 * std::numbers::pi);
        const double layer = random.uniform(-layer_edge, layer_edge);
        s.z[i] = disc_.height * std::atanh(layer);
        s.x[i] = radius * std::cos(angle);
        s.y[i] = radius * std::sin(angle);
        const Motion motion = disc_motion(radius, s.z[i]);
        // Box and Muller's pair of normal numbers from the two shares.
        const double spread = std::sqrt(-2.0 * std::log(std::max(shares.speed, 1e-12)));
        const double turn = 2.0 * std::numbers::pi * shares.slant;
        const double outward = motion.radial * spread * std::cos(turn);
        const double around = motion.rotation + motion.azimuthal * spread * std::sin(turn);
        s.vx[i] = outward * std::cos(angle) - around * std::sin(angle);
        s.vy[i] = outward * std::sin(angle) + around * std::cos(angle);
        s.vz[i] = motion.vertical * random.normal();
    }

    double circular_speed(double radius) const { return std::sqrt(radius * radial_pull(radius, 0.0)); }

  private:
    struct Frequencies {
        double omega, kappa;
    };
    struct Motion {
        double radial, azimuthal, vertical; // dispersions
        double rotation;
    };

    std::vector<double> total_mass() const {
        std::vector<double> enclosed = sum_of(bulge_.enclosed_mass(), halo_.enclosed_mass());
        add_disc_shells(disc_, radii_, enclosed);
        return enclosed;
    }

    double radial_pull(double radius, double height) const {
        const double r = std::hypot(radius, height);
        return disc_field_.radial_pull(radius, height) + spheres_.pull(r) * radius / r;
    }

    double vertical_pull(double radius, double height) const {
        const double r = std::hypot(radius, height);
        return disc_field_.vertical_pull(radius, height) + spheres_.pull(r) * height / r;
    }

    Frequencies epicyclic(double radius) const {
        const auto omega2 = [this](double at) { return radial_pull(at, 0.0) / at; };
        const double step = 0.05 * radius;
        const double slope = (omega2(radius + step) - omega2(radius - step)) / (2.0 * step);
        const double here = omega2(radius);
        const double kappa2 =
            std::clamp(radius * slope + 4.0 * here, here, 4.0 * here); // Kepler to solid body
        return {std::sqrt(here), std::sqrt(kappa2)};
    }

    // sigma_z^2 = (1/rho) integral over z of rho d phi/dz, in u = tanh(z/z_0) where rho dz = du.
    double vertical_variance(double radius, double height) const {
        constexpr int steps = 24;
        const double u0 = std::tanh(std::abs(height) / disc_.height);
        const double width = (1.0 - u0) / steps;
        double integral = 0.0;
        for (int k = 0; k < steps; ++k) {
            const double u = u0 + (k + 0.5) * width;
            integral += vertical_pull(radius, disc_.height * std::atanh(u)) * width;
        }
        return disc_.height * integral / ((1.0 - u0) * (1.0 + u0));
    }

    Motion disc_motion(double radius, double height) const {
        const double scale = disc_.scale;
        const Frequencies f = epicyclic(std::max(radius, 1e-3 * scale));
        const double radial2 = central_dispersion_ * central_dispersion_ * std::exp(-radius / scale);
        const double ratio2 = f.kappa * f.kappa / (4.0 * f.omega * f.omega);
        // Radial Jeans equation with nu sigma_R^2 ~ exp(-2R/R_d): the mean square of the azimuthal velocity.
        const double square = radius * radial_pull(radius, height) + radial2 * (1.0 - 2.0 * radius / scale);
        const double azimuthal2 = std::clamp(radial2 * ratio2, 0.0, std::max(square, 0.0));
        return {std::sqrt(radial2), std::sqrt(azimuthal2), std::sqrt(vertical_variance(radius, height)),
                std::sqrt(std::max(0.0, square - azimuthal2))};
    }

    GalaxyOptions options_;
    DiscShape disc_;
    std::vector<double> radii_;
    CutHernquist bulge_, halo_;
    SphericalPotential spheres_;    // bulge and halo
    SphericalPotential everything_; // and the disc, spherically averaged
    EddingtonModel bulge_speeds_, halo_speeds_;
    DiscField disc_field_;
    double central_dispersion_ = 0.0;
};

void describe(Snapshot& s, const GalaxyOptions& o, const Counts& counts, double half_mass_speed) {
    s.suggested_softening = o.softening;
    s.attributes = {{"model", "galaxy"},
                    {"seed", std::to_string(o.seed)},
                    {"disc_particles", std::to_string(counts.disc)},
                    {"bulge_particles", std::to_string(counts.bulge)},
                    {"halo_particles", std::to_string(counts.halo)},
                    {"toomre_q", number_text(o.toomre_q)},
                    {"disc_dynamical_time", number_text(1.678 * o.disc_scale / half_mass_speed)}};
    // 1/50 of R/v at the half-mass radius of the disc: 100,000 particles keep their energy to 1e-4 with it.
    s.suggested_time_step = 0.02 * 1.678 * o.disc_scale / half_mass_speed;
}

} // namespace

Snapshot make_galaxy(const GalaxyOptions& o) {
    check_options(o);
    const Counts counts = share_particles(o);
    const Model model(o);
    Snapshot s;
    s.resize(o.n);
    const struct {
        Component kind;
        std::size_t count;
        double mass;
    } parts[] = {{Component::Halo, counts.halo, o.halo_mass},
                 {Component::Disc, counts.disc, o.disc_mass},
                 {Component::Bulge, counts.bulge, o.bulge_mass}};
    std::size_t begin = 0;
    for (const auto& part : parts) {
        for (std::size_t k = 0; k < part.count; ++k) {
            const std::size_t i = begin + k;
            Random random(o.seed, 10 + static_cast<std::uint64_t>(part.kind), k);
            const Shares shares =
                quiet_shares(k, part.count, o.seed, 20 + static_cast<std::uint64_t>(part.kind));
            if (part.kind == Component::Disc) {
                model.place_disc(s, i, shares, random);
            } else {
                model.place_sphere(s, i, part.kind == Component::Halo, shares, random);
            }
            s.mass[i] = part.mass / static_cast<double>(part.count);
            s.component[i] = static_cast<std::int32_t>(part.kind);
        }
        move_to_barycentre(s, begin,
                           begin + part.count); // each part, so that none starts to oscillate in another
        begin += part.count;
    }
    describe(s, o, counts, model.circular_speed(1.678 * o.disc_scale));
    return s;
}

} // namespace graft::cli
