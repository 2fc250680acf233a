// SPDX-License-Identifier: BSD-3-Clause
// Initial conditions against the analytic models they claim to be.
#include "ic/initial_conditions.hpp"
#include "ic/random.hpp"
#include "snapshot/error.hpp"
#include "support.hpp"

namespace graft::cli::test {
namespace {

constexpr double unusual = 1.95; // once in a thousand samples

// sigma_r^2 / sigma_t^2 per dimension; 1 for isotropic velocities.
double anisotropy_ratio(const Snapshot& s) {
    double radial = 0.0;
    double total = 0.0;
    for (std::size_t i = 0; i < s.size(); ++i) {
        const double r = std::hypot(s.x[i], s.y[i], s.z[i]);
        const double along = (s.x[i] * s.vx[i] + s.y[i] * s.vy[i] + s.z[i] * s.vz[i]) / r;
        radial += along * along;
        total += s.vx[i] * s.vx[i] + s.vy[i] * s.vy[i] + s.vz[i] * s.vz[i];
    }
    return radial / (0.5 * (total - radial));
}

TEST(Random, KnownAnswersAndUniformity) {
    std::uint64_t state = 1234567; // the published test vector of splitmix64
    EXPECT_EQ(splitmix64(state), 6457827717110365317u);
    EXPECT_EQ(splitmix64(state), 3203168211198807973u);
    std::vector<double> sample;
    for (std::uint64_t i = 0; i < 20000; ++i) {
        sample.push_back(Random(7, 1, i).uniform()); // across generators, as particles use them
    }
    EXPECT_LT(kolmogorov(sample, [](double u) { return u; }), unusual);
    Random random(3);
    for (double& value : sample) {
        value = random.normal();
    }
    EXPECT_LT(kolmogorov(sample, [](double v) { return 0.5 * std::erfc(-v / std::sqrt(2.0)); }), unusual);
}

TEST(Plummer, ProfileVirialRatioAndIsotropy) {
    PlummerOptions o;
    o.n = 5000;
    o.scale_radius = 2.0;
    o.mass = 3.0;
    const Snapshot s = make_plummer(o);
    const auto inside = [](double r) { return std::pow(1.0 + 4.0 / (r * r), -1.5); };
    EXPECT_LT(kolmogorov(radii(s), inside), unusual);
    const Energies e = direct_energies(s, 0.0);
    EXPECT_NEAR(-2.0 * e.kinetic / e.potential, 1.0, 0.03);
    EXPECT_NEAR(e.potential, -3.0 * 3.141592653589793 / 32.0 * 9.0 / 2.0, 0.03 * 1.33); // -3 pi/32 G M^2/a
    EXPECT_NEAR(anisotropy_ratio(s), 1.0, 0.05);
    const Barycentre b = barycentre(s, 0, s.size());
    EXPECT_NEAR(b.mass, 3.0, 1e-12);
    for (int k = 0; k < 3; ++k) {
        EXPECT_NEAR(b.position[k], 0.0, 1e-12);
        EXPECT_NEAR(b.velocity[k], 0.0, 1e-12);
    }
}

TEST(Plummer, SpeedsFollowTheDistributionFunction) {
    PlummerOptions o;
    o.n = 20000;
    const Snapshot s = make_plummer(o);
    std::vector<double> q;
    for (std::size_t i = 0; i < s.size(); ++i) {
        const double r2 = s.x[i] * s.x[i] + s.y[i] * s.y[i] + s.z[i] * s.z[i];
        q.push_back(std::hypot(s.vx[i], s.vy[i], s.vz[i]) / std::sqrt(2.0) * std::pow(1.0 + r2, 0.25));
    }
    std::vector<double> cumulative(1001, 0.0); // of q^2 (1-q^2)^(7/2)
    for (std::size_t k = 1; k <= 1000; ++k) {
        const double m = (static_cast<double>(k) - 0.5) / 1000.0;
        cumulative[k] = cumulative[k - 1] + m * m * std::pow(1.0 - m * m, 3.5);
    }
    const auto model = [&](double v) {
        const double place = std::clamp(v, 0.0, 0.9999) * 1000.0;
        const auto k = static_cast<std::size_t>(place);
        const double part = place - static_cast<double>(k);
        return (cumulative[k] + part * (cumulative[k + 1] - cumulative[k])) / cumulative[1000];
    };
    EXPECT_LT(kolmogorov(q, model), unusual + 0.5); // centring moves all speeds a little
}

TEST(Plummer, SameSeedSameParticlesWhateverN) {
    PlummerOptions o;
    o.n = 100;
    const Snapshot a = make_plummer(o);
    EXPECT_EQ(a.x, make_plummer(o).x);
    o.seed = 43;
    EXPECT_NE(a.x, make_plummer(o).x);
}

TEST(Plummer, TheCutLimitsRadii) {
    PlummerOptions o;
    o.n = 5000;
    o.mass_fraction = 0.5;
    const std::vector<double> r = radii(make_plummer(o));
    EXPECT_LT(*std::max_element(r.begin(), r.end()), 1.305 + 0.05); // half-mass radius 1.3048
    o.mass_fraction = 0.0;
    EXPECT_THROW(make_plummer(o), Error);
}

TEST(Hernquist, ProfileVirialRatioAndIsotropy) {
    HernquistOptions o;
    o.n = 5000;
    o.mass_fraction = 1.0;
    const Snapshot s = make_hernquist(o);
    const Barycentre b = barycentre(s, 0, s.size());
    EXPECT_NEAR(b.velocity[0], 0.0, 1e-12);
    EXPECT_LT(kolmogorov(radii(s), [](double r) { return r * r / ((r + 1.0) * (r + 1.0)); }), unusual);
    const Energies e = direct_energies(s, 0.0);
    EXPECT_NEAR(e.potential, -1.0 / 6.0, 0.05 / 6.0); // -G M^2 / 6a
    EXPECT_NEAR(-2.0 * e.kinetic / e.potential, 1.0, 0.04);
    EXPECT_NEAR(anisotropy_ratio(s), 1.0, 0.05);
}

TEST(Hernquist, DispersionFollowsTheJeansSolution) {
    HernquistOptions o;
    o.n = 100000;
    o.mass_fraction = 1.0;
    const Snapshot s = make_hernquist(o);
    // Hernquist 1990, equation 10.
    const auto variance = [](double r) {
        return (12.0 * r * std::pow(r + 1.0, 3.0) * std::log((r + 1.0) / r) -
                r / (r + 1.0) * (25.0 + 52.0 * r + 42.0 * r * r + 12.0 * r * r * r)) /
               12.0;
    };
    for (const double middle : {0.3, 1.0, 3.0}) {
        double sum = 0.0;
        double model = 0.0;
        double count = 0.0;
        for (std::size_t i = 0; i < s.size(); ++i) {
            const double r = std::hypot(s.x[i], s.y[i], s.z[i]);
            if (r > 0.8 * middle && r < 1.25 * middle) {
                sum += (s.vx[i] * s.vx[i] + s.vy[i] * s.vy[i] + s.vz[i] * s.vz[i]) / 3.0;
                model += variance(r);
                count += 1.0;
            }
        }
        EXPECT_GT(count, 3000.0);
        EXPECT_NEAR(sum / model, 1.0, 0.03) << "r = " << middle;
    }
}

TEST(Cube, IsUniform) {
    CubeOptions o;
    o.n = 20000;
    o.edge = 2.0;
    o.periodic = true;
    const Snapshot s = make_cube(o);
    for (const auto* axis : {&s.x, &s.y, &s.z}) {
        EXPECT_LT(kolmogorov(*axis, [](double v) { return 0.5 * v; }), unusual);
    }
    EXPECT_EQ(s.box_size, 2.0);
}

TEST(ColdSphere, ProfileAndVirialRatio) {
    ColdSphereOptions o;
    o.n = 4000;
    o.radius = 2.0;
    Snapshot s = make_cold_sphere(o);
    EXPECT_LT(kolmogorov(radii(s), [](double r) { return std::min(1.0, r * r * r / 8.0); }), unusual);
    EXPECT_EQ(direct_energies(s, 0.0).kinetic, 0.0);
    o.virial_ratio = 0.5;
    s = make_cold_sphere(o);
    const Energies e = direct_energies(s, 0.0);
    EXPECT_NEAR(-2.0 * e.kinetic / e.potential, 0.5, 0.02);
}

TEST(Clustered, TwoPointSlopeIsMinusOnePointEight) {
    ClusteredOptions o;
    o.n = 16000;
    const Snapshot s = make_clustered(o);
    constexpr int bins = 10;
    const double low = std::log(0.006);
    const double high = std::log(0.05);
    double pairs[bins] = {};
    for (std::size_t i = 0; i < s.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            double r2 = 0.0;
            for (double d : {s.x[i] - s.x[j], s.y[i] - s.y[j], s.z[i] - s.z[j]}) {
                d -= std::round(d);
                r2 += d * d;
            }
            if (r2 > 0.006 * 0.006 && r2 < 0.05 * 0.05) {
                pairs[std::min(bins - 1,
                               static_cast<int>((0.5 * std::log(r2) - low) / (high - low) * bins))] += 1.0;
            }
        }
    }
    // xi = DD/RR - 1 and a straight line through its logarithm.
    double sx = 0.0, sy = 0.0, sxx = 0.0, sxy = 0.0;
    for (int k = 0; k < bins; ++k) {
        const double inner = std::exp(low + (high - low) * k / bins);
        const double outer = std::exp(low + (high - low) * (k + 1) / bins);
        const double volume = 4.18879 * (outer * outer * outer - inner * inner * inner);
        const double xi = pairs[k] / (0.5 * 16000.0 * 15999.0 * volume) - 1.0;
        ASSERT_GT(xi, 1.0) << "strongly clustered down there";
        const double x = 0.5 * std::log(inner * outer);
        sx += x;
        sy += std::log(xi);
        sxx += x * x;
        sxy += x * std::log(xi);
    }
    EXPECT_NEAR((bins * sxy - sx * sy) / (bins * sxx - sx * sx), -1.8, 0.2);
}

TEST(Options, OutOfRangeIsNamed) {
    ClusteredOptions o;
    o.slope = 7.0;
    try {
        make_clustered(o);
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("'slope'"), std::string::npos);
        EXPECT_NE(std::string(error.what()).find("0.5 to 2.5"), std::string::npos);
    }
}

TEST(Options, SmallNumbersOfParticlesWork) {
    for (const std::size_t n : {0u, 1u, 2u}) {
        PlummerOptions p;
        p.n = n;
        make_plummer(p).validate("plummer");
        HernquistOptions h;
        h.n = n;
        make_hernquist(h).validate("hernquist");
        ClusteredOptions c;
        c.n = n;
        make_clustered(c).validate("clustered");
        CubeOptions q;
        q.n = n;
        make_cube(q).validate("cube");
        ColdSphereOptions d;
        d.n = n;
        make_cold_sphere(d).validate("cold");
    }
}

} // namespace
} // namespace graft::cli::test
