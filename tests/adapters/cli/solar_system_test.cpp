// SPDX-License-Identifier: BSD-3-Clause
// Orbits: Kepler's equation, elements and back, masses, the frame, the pair of Pluto and Charon, the belt.
#include "ic/kepler.hpp"
#include "ic/random.hpp"
#include "ic/solar_system.hpp"
#include "snapshot/error.hpp"
#include "support.hpp"

namespace graft::cli::test {
namespace {

constexpr double pi = 3.141592653589793;

std::vector<OrbitRow> small_table() {
    return read_orbit_table("e,a,i,om,w,ma,epoch,H,albedo,diameter,mass,class,name,central_body\n"
                            "0.05,5.2,1.3,100,274,20,2451545,,,,1.898e27,PLA,Big,Sun\n"
                            "0.01,0.01,2,30,40,50,2451545,,,,1e22,SAT,Moon,Big\n"
                            "0.2,2.5,10,80,70,60,2451645,10,0.05,,,AST,Dark,Sun\n"
                            "0.2,2.6,10,80,70,60,2451545,,,,1.30e22,DWA,Pluto,Sun\n"
                            "0.001,0.000117,112,227,188,258,2451545,,,,1.586e21,SAT,Charon,Pluto\n"
                            "0.002,0.000325,112,227,223,319,2451545,,,,4.5e16,SAT,Nix,Pluto\n",
                            "small.csv");
}

OrbitalState relative(const Snapshot& s, std::size_t body, std::size_t centre) {
    OrbitalState r;
    const std::vector<double>* position[3] = {&s.x, &s.y, &s.z};
    const std::vector<double>* velocity[3] = {&s.vx, &s.vy, &s.vz};
    for (int k = 0; k < 3; ++k) {
        r.position[k] = (*position[k])[body] - (*position[k])[centre];
        r.velocity[k] = (*velocity[k])[body] - (*velocity[k])[centre];
    }
    return r;
}

TEST(Kepler, EquationHoldsForAllEccentricities) {
    for (const double e : {0.0, 1e-9, 0.1, 0.5, 0.9, 0.99, 0.999999, 1.0 - 1e-12}) {
        for (const double m :
             {0.0, 1e-300, 1e-18, 1e-12, 1e-6, 1e-3, 0.1, 1.0, 2.0, 3.0, 3.14159265, -0.5, -1e-9}) {
            const long double anomaly = eccentric_anomaly(m, e);
            // In long double, and by a series where x - sin x would cancel.
            const long double excess = std::abs(anomaly) > 0.1L
                                           ? anomaly - std::sin(anomaly)
                                           : anomaly * anomaly * anomaly / 6.0L *
                                                 (1.0L - anomaly * anomaly / 20.0L *
                                                             (1.0L - anomaly * anomaly / 42.0L *
                                                                         (1.0L - anomaly * anomaly / 72.0L)));
            const long double back =
                (1.0L - static_cast<long double>(e)) * anomaly + static_cast<long double>(e) * excess;
            EXPECT_LE(std::abs(back - m), 1e-15L * std::abs(static_cast<long double>(m)) * 20.0L)
                << "e = " << e << ", M = " << m;
        }
    }
}

TEST(Kepler, HyperbolaHolds) {
    for (const double e : {1.0 + 1e-9, 1.1, 3.0, 50.0}) {
        for (const double m : {1e-9, 0.1, 3.0, 1000.0, -2.0}) {
            const long double h = hyperbolic_anomaly(m, e);
            const long double back = static_cast<long double>(e) * std::sinh(h) - h;
            EXPECT_NEAR(static_cast<double>(back / m), 1.0, e < 1.01 && std::abs(m) < 1e-3 ? 1e-6 : 1e-12)
                << e << " " << m;
        }
    }
}

TEST(Kepler, EnergyAndAngularMomentumOfAState) {
    const OrbitalElements o{2.0, 0.3, 0.7, 1.1, 2.2, 0.4};
    const double mu = 3.0;
    const OrbitalState s = state_of(o, mu);
    const double r = std::hypot(s.position[0], s.position[1], s.position[2]);
    const double v = std::hypot(s.velocity[0], s.velocity[1], s.velocity[2]);
    EXPECT_NEAR(0.5 * v * v - mu / r, -mu / 4.0, 1e-14);
    const double h[3] = {s.position[1] * s.velocity[2] - s.position[2] * s.velocity[1],
                         s.position[2] * s.velocity[0] - s.position[0] * s.velocity[2],
                         s.position[0] * s.velocity[1] - s.position[1] * s.velocity[0]};
    const double length = std::sqrt(mu * 2.0 * (1.0 - 0.09));
    EXPECT_NEAR(std::hypot(h[0], h[1], h[2]), length, 1e-14);
    EXPECT_NEAR(h[2], length * std::cos(0.7), 1e-14);
    EXPECT_NEAR(std::atan2(h[0], -h[1]), 1.1, 1e-14);
}

TEST(Kepler, ElementsComeBack) {
    Random random(5);
    for (int k = 0; k < 2000; ++k) {
        const bool ellipse = k % 4 != 0;
        const OrbitalElements o{(ellipse ? 1.0 : -1.0) * std::exp(random.uniform(-3.0, 3.0)),
                                ellipse ? random.uniform(0.001, 0.98) : random.uniform(1.02, 5.0),
                                random.uniform(0.01, 3.1),
                                random.uniform(0.0, 2.0 * pi),
                                random.uniform(0.0, 2.0 * pi),
                                random.uniform(0.0, 2.0 * pi)};
        const OrbitalElements back = elements_of(state_of(o, 1.7), 1.7);
        EXPECT_NEAR(back.semi_major / o.semi_major, 1.0, 1e-11);
        EXPECT_NEAR(back.eccentricity, o.eccentricity, 1e-11);
        EXPECT_NEAR(back.inclination, o.inclination, 1e-12);
        EXPECT_NEAR(std::remainder(back.node - o.node, 2.0 * pi), 0.0, 1e-10);
        EXPECT_NEAR(std::remainder(back.pericentre - o.pericentre, 2.0 * pi), 0.0, 1e-9);
        const double difference = back.mean_anomaly - o.mean_anomaly;
        EXPECT_NEAR(ellipse ? std::remainder(difference, 2.0 * pi) : difference, 0.0, 1e-9);
    }
    EXPECT_THROW(state_of({1.0, 1.0, 0, 0, 0, 0}, 1.0), Error);
    EXPECT_THROW(state_of({-1.0, 0.5, 0, 0, 0, 0}, 1.0), Error);
}

TEST(Masses, FollowMagnitudeAndAlbedo) {
    EXPECT_NEAR(diameter_from_magnitude_km(3.34, 0.09), 951.6, 0.5); // Ceres has 940 km
    EXPECT_EQ(density_from_albedo(0.0999), 1380.0);
    EXPECT_EQ(density_from_albedo(0.1), 2710.0);
    EXPECT_EQ(density_from_albedo(0.2), 2710.0);
    EXPECT_EQ(density_from_albedo(0.2001), 5320.0);
    OrbitRow row;
    row.absolute_magnitude = 10.0;
    row.albedo = 0.05;
    const double diameter = 1329e3 * 0.01 / std::sqrt(0.05);
    EXPECT_NEAR(mass_of_row_kg(row) / (1380.0 * pi / 6.0 * std::pow(diameter, 3.0)), 1.0, 1e-12);
    row.diameter_km = 100.0; // a measured diameter goes before the magnitude
    EXPECT_NEAR(mass_of_row_kg(row) / (1380.0 * pi / 6.0 * 1e15), 1.0, 1e-12);
    row.mass_kg = 5.0;
    EXPECT_EQ(mass_of_row_kg(row), 5.0);
    EXPECT_THROW(mass_of_row_kg(OrbitRow{}), Error);
}

TEST(Orbits, BodiesHaveTheirElements) {
    const std::vector<OrbitRow> rows = small_table();
    const Snapshot s = make_orbits(rows, {});
    ASSERT_EQ(s.size(), 7u);
    EXPECT_EQ(s.names[0], "Sun");
    EXPECT_EQ(s.mass[0], 1.0);
    const double g = s.units.gravitational_constant;
    EXPECT_NEAR(g, 2.9591220828e-4, 1e-13); // Gauss' constant squared
    const struct { std::size_t body, centre; } pairs[] = {{1, 0}, {2, 1}, {4, 0}};
    for (const auto& pair : pairs) {
        const OrbitRow& row = rows[pair.body - 1];
        const OrbitalElements o =
            elements_of(relative(s, pair.body, pair.centre), g * (s.mass[pair.body] + s.mass[pair.centre]));
        EXPECT_NEAR(o.semi_major / row.semi_major_au, 1.0, 1e-9) << row.name;
        EXPECT_NEAR(o.eccentricity, row.eccentricity, 1e-9);
        EXPECT_NEAR(o.inclination * 180.0 / pi, row.inclination_deg, 1e-7);
        EXPECT_NEAR(o.node * 180.0 / pi, row.node_deg, 1e-6);
        EXPECT_NEAR(o.pericentre * 180.0 / pi, row.pericentre_deg, 1e-5);
        EXPECT_NEAR(o.mean_anomaly * 180.0 / pi, row.mean_anomaly_deg, 1e-5);
    }
    const Barycentre b = barycentre(s, 0, s.size());
    for (int k = 0; k < 3; ++k) {
        EXPECT_NEAR(b.position[k], 0.0, 1e-14);
        EXPECT_NEAR(b.velocity[k], 0.0, 1e-16);
    }
}

TEST(Orbits, OtherEpochsAreBroughtToTheCommonOne) {
    const Snapshot s = make_orbits(small_table(), {});
    EXPECT_EQ(s.attributes.at("epoch_jd"), "2451545");
    const double mu = s.units.gravitational_constant * (1.0 + s.mass[3]);
    const OrbitalElements o = elements_of(relative(s, 3, 0), mu);
    const double expected = 60.0 - 100.0 * 360.0 / (2.0 * pi * std::sqrt(2.5 * 2.5 * 2.5 / mu));
    EXPECT_NEAR(o.mean_anomaly * 180.0 / pi, expected, 1e-6);
}

TEST(Orbits, SmallMoonsOrbitTheBarycentreOfPlutoAndCharon) {
    const Snapshot s = make_orbits(small_table(), {});
    const double pair_mass = s.mass[4] + s.mass[5];
    const OrbitalState charon = relative(s, 5, 4);
    const OrbitalState nix = relative(s, 6, 4);
    OrbitalState about;
    for (int k = 0; k < 3; ++k) {
        about.position[k] = nix.position[k] - s.mass[5] / pair_mass * charon.position[k];
        about.velocity[k] = nix.velocity[k] - s.mass[5] / pair_mass * charon.velocity[k];
    }
    const double g = s.units.gravitational_constant;
    EXPECT_NEAR(elements_of(about, g * (pair_mass + s.mass[6])).semi_major / 0.000325, 1.0, 1e-8);
    // Charon's own orbit about that point has a = 17,500 km, so that the real period of 6.387 days comes out.
    const OrbitalElements o = elements_of(charon, g * pair_mass);
    EXPECT_NEAR(o.semi_major * s.mass[4] / pair_mass / 0.000117, 1.0, 1e-8);
    EXPECT_NEAR(2.0 * pi * std::sqrt(std::pow(o.semi_major, 3.0) / (g * pair_mass)), 6.387, 0.05);
    OrbitOptions plain;
    plain.charon_about_barycentre = false;
    const Snapshot t = make_orbits(small_table(), plain);
    EXPECT_NEAR(elements_of(relative(t, 5, 4), g * pair_mass).semi_major / 0.000117, 1.0, 1e-8);
}

TEST(Orbits, KilogramsGiveTheSameMotion) {
    OrbitOptions o;
    o.mass_unit = MassUnit::Kilogram;
    const Snapshot a = make_orbits(small_table(), {});
    const Snapshot b = make_orbits(small_table(), o);
    EXPECT_NEAR(b.mass[0], 1.98841e30, 1e25);
    EXPECT_NEAR(b.units.gravitational_constant * b.mass[1] / (a.units.gravitational_constant * a.mass[1]),
                1.0, 1e-12);
    EXPECT_NEAR(b.vx[1] / a.vx[1], 1.0, 1e-10);
}

TEST(Orbits, BadTablesAreNamed) {
    const std::string head = "e,a,i,om,w,ma,epoch,mass,name,central_body\n";
    const auto message = [&head](const std::string& lines) {
        try {
            make_orbits(read_orbit_table(head + lines, "t.csv"), {});
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    EXPECT_NE(message("0.1,1,0,0,0,0,0,1,A,Vulcan\n").find("unknown central body 'Vulcan'"),
              std::string::npos);
    EXPECT_NE(message("0.1,1,0,0,0,0,0,1,A,B\n0.1,1,0,0,0,0,0,1,B,A\n").find("circle"), std::string::npos);
    EXPECT_NE(message("0.1,1,0,0,0,0,0,1,A,Sun\n0.1,1,0,0,0,0,0,1,A,Sun\n").find("two bodies"),
              std::string::npos);
    EXPECT_NE(message("1.0,1,0,0,0,0,0,1,A,Sun\n").find("t.csv:2"), std::string::npos);
    EXPECT_NE(message("0.1,1,0,0,0,0,0,,A,Sun\n").find("no mass for body 'A'"), std::string::npos);
    EXPECT_NE(message("0.1,1,0,0\n").find("wrong number of fields"), std::string::npos);
    EXPECT_NE(message("").find("empty"), std::string::npos);
    EXPECT_THROW(read_orbit_table("x,y,z\n1,2,3\n", "t.csv"), Error);
}

TEST(Orbits, BuiltInTableIsASolarSystem) {
    const Snapshot s = make_orbits(read_orbit_table(built_in_orbit_table(), "built-in"), {});
    EXPECT_EQ(s.size(), 20u);
    EXPECT_LT(direct_energies(s, 0.0).kinetic + direct_energies(s, 0.0).potential, 0.0);
}

// Kick-drift-kick in double precision over 40 days at 1 h, as the real run does it.
TEST(Orbits, TheRealSolarSystemHoldsTogether) {
    if (test_data().empty()) {
        GTEST_SKIP() << "skipped: no data";
    }
    const std::vector<OrbitRow> rows = read_orbit_table_file(test_data() + "/planets_and_moons.csv");
    Snapshot s = make_orbits(rows, {});
    ASSERT_EQ(s.size(), 178u);
    const double g = s.units.gravitational_constant;
    std::vector<double> a[3] = {std::vector<double>(178), std::vector<double>(178), std::vector<double>(178)};
    std::vector<double>* x[3] = {&s.x, &s.y, &s.z};
    std::vector<double>* v[3] = {&s.vx, &s.vy, &s.vz};
    const auto kick = [&](double dt) {
        for (std::size_t i = 0; i < 178; ++i) {
            double sum[3] = {};
            for (std::size_t j = 0; j < 178; ++j) {
                const double d[3] = {s.x[j] - s.x[i], s.y[j] - s.y[i], s.z[j] - s.z[i]};
                const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
                const double w = j == i ? 0.0 : g * s.mass[j] / (r2 * std::sqrt(r2));
                for (int k = 0; k < 3; ++k) {
                    sum[k] += w * d[k];
                }
            }
            for (int k = 0; k < 3; ++k) {
                (*v[k])[i] += dt * sum[k];
            }
        }
    };
    const double dt = 1.0 / 24.0;
    for (int step = 0; step < 960; ++step) {
        kick(0.5 * dt);
        for (std::size_t i = 0; i < 178; ++i) {
            for (int k = 0; k < 3; ++k) {
                (*x[k])[i] += dt * (*v[k])[i];
            }
        }
        kick(0.5 * dt);
    }
    for (std::size_t k = 0; k < rows.size(); ++k) {
        const auto centre = std::find(s.names.begin(), s.names.end(), rows[k].central_body) - s.names.begin();
        const OrbitalState r = relative(s, k + 1, static_cast<std::size_t>(centre));
        const double distance = std::hypot(r.position[0], r.position[1], r.position[2]);
        EXPECT_GT(distance, 0.7 * rows[k].semi_major_au * (1.0 - rows[k].eccentricity)) << rows[k].name;
        EXPECT_LT(distance, 1.5 * rows[k].semi_major_au * (1.0 + rows[k].eccentricity)) << rows[k].name;
    }
}

TEST(Belt, DistributionsAndMasses) {
    BeltOptions o;
    o.n = 20000;
    const Snapshot s = make_belt(read_orbit_table(built_in_orbit_table(), "built-in"), o);
    ASSERT_EQ(s.size(), 20020u);
    const double g = s.units.gravitational_constant;
    double e_sum = 0.0;
    double belt_mass = 0.0;
    int near_gap = 0;
    int beside_gap = 0;
    for (std::size_t i = 20; i < s.size(); ++i) {
        const OrbitalElements el = elements_of(relative(s, i, 0), g * (1.0 + s.mass[i]));
        EXPECT_GE(el.semi_major, 2.1 - 1e-9);
        EXPECT_LE(el.semi_major, 3.3 + 1e-9);
        e_sum += el.eccentricity;
        belt_mass += s.mass[i];
        near_gap += std::abs(el.semi_major - 2.502) < 0.01 ? 1 : 0;
        beside_gap += std::abs(el.semi_major - 2.56) < 0.01 ? 1 : 0;
        EXPECT_EQ(s.component[i], 5);
    }
    EXPECT_NEAR(e_sum / 20000.0, 0.14, 0.01);
    EXPECT_LT(5 * near_gap, beside_gap); // the 3:1 gap
    EXPECT_GT(beside_gap, 200);
    EXPECT_GT(belt_mass, 0.0);
    EXPECT_LT(belt_mass, 1e-9); // the real belt: 1.2e-9 solar masses
}

} // namespace
} // namespace graft::cli::test
