// SPDX-License-Identifier: BSD-3-Clause
// The galaxy: masses, profiles, virial equilibrium, and that it stays as it is under direct-sum gravity.
#include "ic/disc_field.hpp"
#include "ic/initial_conditions.hpp"
#include "ic/spherical_equilibrium.hpp"
#include "snapshot/error.hpp"
#include "support.hpp"

namespace graft::cli::test {
namespace {

double mass_of(const Snapshot& s, int component) {
    double sum = 0.0;
    for (std::size_t i = 0; i < s.size(); ++i) {
        sum += s.component[i] == component ? s.mass[i] : 0.0;
    }
    return sum;
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<long>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// Single-precision leapfrog by direct sum, so that it fits a test's time.
class Leapfrog {
  public:
    explicit Leapfrog(Snapshot& s) : s_(s), ax_(s.size()), ay_(s.size()), az_(s.size()) { forces(); }

    void step(double dt) {
        kick(0.5 * dt);
        for (std::size_t i = 0; i < s_.size(); ++i) {
            s_.x[i] += dt * s_.vx[i];
            s_.y[i] += dt * s_.vy[i];
            s_.z[i] += dt * s_.vz[i];
        }
        forces();
        kick(0.5 * dt);
    }

  private:
    void kick(double dt) {
        for (std::size_t i = 0; i < s_.size(); ++i) {
            s_.vx[i] += dt * ax_[i];
            s_.vy[i] += dt * ay_[i];
            s_.vz[i] += dt * az_[i];
        }
    }
    void forces() {
        const std::vector<float> x(s_.x.begin(), s_.x.end()), y(s_.y.begin(), s_.y.end()),
            z(s_.z.begin(), s_.z.end());
        const float m = static_cast<float>(s_.mass[0]); // all equal
        const float e2 = static_cast<float>(s_.suggested_softening * s_.suggested_softening);
        const std::size_t n = s_.size();
        for (std::size_t i = 0; i < n; ++i) {
            constexpr std::size_t lanes = 8; // separate sums, so that the compiler may use SIMD
            float sx[lanes] = {}, sy[lanes] = {}, sz[lanes] = {};
            for (std::size_t j = 0; j + lanes <= n; j += lanes) {
                for (std::size_t l = 0; l < lanes; ++l) {
                    const float dx = x[j + l] - x[i], dy = y[j + l] - y[i], dz = z[j + l] - z[i];
                    const float r2 = dx * dx + dy * dy + dz * dz + e2;
                    const float w = m / (r2 * std::sqrt(r2));
                    sx[l] += w * dx;
                    sy[l] += w * dy;
                    sz[l] += w * dz;
                }
            }
            ax_[i] = ay_[i] = az_[i] = 0.0;
            for (std::size_t l = 0; l < lanes; ++l) {
                ax_[i] += static_cast<double>(sx[l]);
                ay_[i] += static_cast<double>(sy[l]);
                az_[i] += static_cast<double>(sz[l]);
            }
        }
    }

    Snapshot& s_;
    std::vector<double> ax_, ay_, az_;
};

TEST(DiscField, ThinDiscHasFreemansRotationCurve) {
    DiscShape thin;
    thin.height = 1e-3;
    const DiscField field(thin, 0.0, 10.0);
    // Freeman 1970: v^2 = 4 pi G Sigma_0 R_d y^2 (I0 K0 - I1 K1), y = R/2R_d; here Sigma_0 = 1/2pi.
    for (const double radius : {0.5, 1.0, 2.2, 5.0}) {
        const double y = 0.5 * radius;
        const double bessel = std::cyl_bessel_i(0.0, y) * std::cyl_bessel_k(0.0, y) -
                              std::cyl_bessel_i(1.0, y) * std::cyl_bessel_k(1.0, y);
        EXPECT_NEAR(radius * field.radial_pull(radius, 0.0) / (2.0 * y * y * bessel), 1.0, 0.01) << radius;
    }
}

TEST(DiscField, FarAwayItPullsLikeAPoint) {
    DiscShape shape;
    const DiscField field(shape, 0.0, 30.0);
    EXPECT_NEAR(field.radial_pull(25.0, 0.0) * 25.0 * 25.0, 1.0, 0.02);
}

TEST(Spheres, SoftenedPotentialAgreesWithQuadrature) {
    const std::vector<double> r = logarithmic_radii(1e-3, 100.0, 500);
    const CutHernquist sphere(1.0, 0.3, 3.0, r);
    const SphericalPotential potential(r, sphere.enclosed_mass(), 0.1);
    // Softened point sources spread over spheres, by brute force.
    double depth = 0.0;
    double pull = 0.0;
    const double at = 0.5;
    constexpr int shells = 4000;
    constexpr int rings = 400;
    for (int k = 0; k < shells; ++k) {
        const double s = sphere.radius_of_fraction((k + 0.5) / shells);
        for (int j = 0; j < rings; ++j) {
            const double cosine = (2.0 * j + 1.0) / rings - 1.0;
            const double d2 = at * at + s * s - 2.0 * at * s * cosine + 0.01;
            depth += 1.0 / std::sqrt(d2) / (shells * rings);
            pull += (at - s * cosine) / (d2 * std::sqrt(d2)) / (shells * rings);
        }
    }
    EXPECT_NEAR(potential.depth(at) / depth, 1.0, 2e-3);
    EXPECT_NEAR(potential.pull(at) / pull, 1.0, 2e-3);
}

TEST(Spheres, EddingtonFindsHernquistsDistributionFunction) {
    const std::vector<double> r = logarithmic_radii(1e-4, 3e4, 800);
    const CutHernquist sphere(1.0, 1.0, 1e9, r);
    const SphericalPotential potential(r, sphere.enclosed_mass(), 0.0);
    const EddingtonModel model(sphere, potential);
    EXPECT_LT(model.negative_share(), 1e-6);
    for (const double energy : {0.1, 0.3, 0.6, 0.8}) { // Hernquist 1990, equation 17
        const double q = std::sqrt(energy);
        const double w = 1.0 - q * q;
        const double exact = (3.0 * std::asin(q) + q * std::sqrt(w) * (1.0 - 2.0 * q * q) *
                                                       (8.0 * q * q * q * q - 8.0 * q * q - 3.0)) /
                             (std::pow(w, 2.5) * 8.0 * std::sqrt(2.0) * std::pow(3.141592653589793, 3.0));
        EXPECT_NEAR(model.distribution(energy) / exact, 1.0, 0.02) << energy;
    }
}

TEST(Galaxy, MassesAreOneToOneToFour) {
    const Snapshot s = make_galaxy({});
    ASSERT_EQ(s.size(), 100000u);
    EXPECT_NEAR(mass_of(s, 2), 1.0, 1e-9);
    EXPECT_NEAR(mass_of(s, 3), 1.0, 1e-9);
    EXPECT_NEAR(mass_of(s, 1), 4.0, 1e-9);
    EXPECT_NEAR(*std::max_element(s.mass.begin(), s.mass.end()) /
                    *std::min_element(s.mass.begin(), s.mass.end()),
                1.0, 1e-4);
    EXPECT_TRUE(std::is_sorted(s.id.begin(), s.id.end()));
    const Barycentre b = barycentre(s, 0, s.size());
    for (int k = 0; k < 3; ++k) {
        EXPECT_NEAR(b.position[k], 0.0, 1e-12);
        EXPECT_NEAR(b.velocity[k], 0.0, 1e-12);
    }
    EXPECT_GT(s.suggested_softening, 0.0);
    EXPECT_GT(s.suggested_time_step, 0.0);
}

TEST(Galaxy, DiscIsExponentialAndThin) {
    GalaxyOptions o;
    o.n = 60000;
    const Snapshot s = make_galaxy(o);
    std::vector<double> cylinder;
    std::vector<double> height;
    double spin = 0.0;
    for (std::size_t i = 0; i < s.size(); ++i) {
        if (s.component[i] == 2) {
            cylinder.push_back(std::hypot(s.x[i], s.y[i]));
            height.push_back(s.z[i]);
            spin += s.mass[i] * (s.x[i] * s.vy[i] - s.y[i] * s.vx[i]);
        }
    }
    EXPECT_LT(kolmogorov(cylinder, [](double r) { return 1.0 - (1.0 + r) * std::exp(-r); }), 1.95);
    EXPECT_LT(kolmogorov(height, [](double z) { return 0.5 * (1.0 + std::tanh(z / 0.15)); }), 1.95);
    EXPECT_GT(spin, 1.0); // it turns, all one way
}

TEST(Galaxy, StartsAndStaysInEquilibrium) {
    GalaxyOptions o;
    o.n = 7200;
    Snapshot s = make_galaxy(o);
    Energies e = direct_energies(s, s.suggested_softening);
    EXPECT_NEAR(-2.0 * e.kinetic / e.clausius, 1.0, 0.02);
    double before[4];
    for (const int part : {1, 2, 3}) {
        before[part] = median(radii(s, part));
    }
    const double energy = e.kinetic + e.potential;
    Leapfrog leapfrog(s);
    for (int step = 0; step < 30; ++step) {
        leapfrog.step(s.suggested_time_step);
    }
    e = direct_energies(s, s.suggested_softening);
    EXPECT_NEAR(-2.0 * e.kinetic / e.clausius, 1.0, 0.02);
    EXPECT_NEAR((e.kinetic + e.potential) / energy, 1.0, 1e-3);
    // A random sample of 1,200 moves its median radius by about 3 % when stratified radii become random ones.
    EXPECT_NEAR(median(radii(s, 1)) / before[1], 1.0, 0.03);
    EXPECT_NEAR(median(radii(s, 2)) / before[2], 1.0, 0.04);
    EXPECT_NEAR(median(radii(s, 3)) / before[3], 1.0, 0.08);
}

TEST(Galaxy, OptionsOutOfRangeAreRefused) {
    GalaxyOptions o;
    o.halo_scale = -1.0;
    EXPECT_THROW(make_galaxy(o), Error);
    o = {};
    o.n = 3;
    EXPECT_THROW(make_galaxy(o), Error);
}

} // namespace
} // namespace graft::cli::test
