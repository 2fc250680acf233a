// SPDX-License-Identifier: BSD-3-Clause
// Periodic boxes by replicas: near images through the tree, far ones by moments of the box, against Ewald's
// sum.
#include "periodic_scene.hpp"
#include "periodic/replicas/replica_field.hpp"

namespace graft::engine::testing {
namespace {

const PeriodicBox straight{{1, 1, 1}}, tilted{{1, 1.2, 0.8}, {-2, 3, 0}, {0.3, -0.2, 0.4}},
    flat{{1, 1.5, 0.6}};

settings::Settings replica_settings(const PeriodicBox& box, settings::Method method = settings::Method::tree,
                                    double accuracy = 1e-6) {
    settings::Settings s = periodic_settings(box, method);
    s.lattice_sum = settings::LatticeSum::replicas, s.ewald_accuracy = accuracy;
    return s;
}

TEST(Replicas, AreEwaldsSumToTheAccuracyAskedFor) {
    for (const PeriodicBox& box : {straight, tilted, flat})
        for (const bool neutral : {true, false}) {
            const Cloud cloud = random_charges(box, 60, neutral);
            const Results expected = oracle(cloud, periodic_settings(box));
            const double size = 60 * std::cbrt(60 / (box.edge[0] * box.edge[1] * box.edge[2])); // of energies
            for (const settings::Method method : {settings::Method::direct, settings::Method::tree})
                for (const double accuracy : {1e-2, 1e-4, 1e-6}) {
                    const Results r = compute_periodic(cloud, replica_settings(box, method, accuracy));
                    EXPECT_LT(rms_error(r, expected), accuracy) << neutral << box.edge[1];
                    EXPECT_NEAR(r.energy, expected.energy, accuracy * size);
                    for (size_t i = 0; i < cloud.x.size(); ++i)
                        EXPECT_NEAR(r.potential[i], expected.potential[i], 0.3 * accuracy * size);
                    for (int c = 0; c < 6; ++c)
                        EXPECT_NEAR(r.virial[c], expected.virial[c], 3 * accuracy * size) << c;
                }
        }
}

TEST(Replicas, MoreImagesReachEightDigits) {
    const Cloud cloud = random_charges(straight, 40, false);
    const Results expected = oracle(cloud, periodic_settings(straight));
    const Results r = compute_periodic(cloud, replica_settings(straight, settings::Method::direct, 1e-8));
    EXPECT_LT(rms_error(r, expected), 1e-8);
}

TEST(Replicas, MadelungOfRockSalt) { // symmetric: the orders that are looked at vanish, others do not
    const PeriodicBox box{{2, 2, 2}};
    Cloud cloud;
    for (int i = 0; i < 8; ++i)
        add(cloud, i & 1, (i >> 1) & 1, (i >> 2) & 1, ((i ^ (i >> 1) ^ (i >> 2)) & 1) != 0 ? -1 : 1);
    const Results r = compute_periodic(cloud, replica_settings(box, settings::Method::tree, 1e-7));
    EXPECT_NEAR(r.energy, -1.7475645946331822 * 4, 1e-6);
}

TEST(Replicas, CellsPolynomialsSplinesRanksAndScopes) {
    const Cloud cloud = random_charges(tilted, 5000, false);
    for (const settings::Softening softening : {settings::Softening::none, settings::Softening::spline}) {
        settings::Settings s = periodic_settings(tilted, settings::Method::tree);
        s.softening = softening, s.softening_length = softening == settings::Softening::none ? 0 : 0.03;
        const Results expected = compute_periodic(cloud, s); // all pairs
        s.lattice_sum = settings::LatticeSum::replicas;
        s.theta = 1, s.order = 4, s.accuracy = 1e-4, s.precision = settings::Precision::mixed;
        for (const settings::TreeScope scope : {settings::TreeScope::local, settings::TreeScope::global})
            for (const settings::Exchange exchange : {settings::Exchange::push, settings::Exchange::fetch})
                for (const int ranks : {1, 2, 3, 4}) {
                    s.tree_scope = scope, s.exchange = exchange;
                    const Results r = compute_over(ranks, cloud, bisection(cloud, ranks), s);
                    double cells = 0;
                    for (const Report& report : r.reports)
                        cells += report.far_cells;
                    EXPECT_GT(cells, 0);
                    EXPECT_LT(rms_error(r, expected), 1e-4) << ranks;
                    // Sums of near images, which cancel; their errors do not. Which cells become polynomials hangs on the
                    // width of vectors, and the error with it.
                    EXPECT_NEAR(r.energy, expected.energy, 1.5e-3 * std::abs(expected.energy));
                    for (int c = 0; c < 6; ++c)
                        EXPECT_NEAR(r.virial[c], expected.virial[c], 1e-2 * std::abs(expected.energy)) << c;
                }
    }
}

/// Accelerations and potentials alone: cells hand polynomials down, and groups are not made once an image.
Choice forces_alone() {
    Choice choice;
    choice.virial = false;
    return choice;
}

TEST(Replicas, CellsHandPolynomialsDown) {
    for (const PeriodicBox& box : {straight, tilted})
        for (const bool neutral : {true, false}) {
            const Cloud cloud = random_charges(box, 4000, neutral);
            settings::Settings s = periodic_settings(box, settings::Method::tree);
            const Results expected = compute_periodic(cloud, s); // all pairs
            s.lattice_sum = settings::LatticeSum::replicas, s.theta = 1, s.accuracy = 1e-4, s.leaf = s.group = 32;
            for (const int order : {1, 2, 4, 8})
                for (const int ranks : {1, 3}) {
                    s.order = order, s.precision = ranks == 1 ? settings::Precision::mixed : settings::Precision::fp64;
                    const Results r = compute_over(ranks, cloud, bisection(cloud, ranks), s, forces_alone());
                    const Report& report = r.reports[0];
                    EXPECT_LT(report.groups, cloud.size() / 2) << "an image each";
                    EXPECT_GT(report.far_cells, 0);
                    EXPECT_LT(rms_error(r, expected), order == 1 ? 4e-4 : 1e-4) << order << neutral << ranks;
                }
        }
}

TEST(Replicas, MassesMeetTheAccuracyAskedFor) { // as the field that is estimated from the tree allows
    for (const bool clustered : {false, true}) {
        Cloud cloud = random_charges(straight, 20000, false);
        for (double& charge : cloud.q)
            charge = 1;
        for (size_t i = 0; clustered && i < cloud.x.size(); i += 2)
            cloud.x[i] = 0.3 + 0.02 * cloud.x[i], cloud.y[i] = 0.98 + 0.03 * cloud.y[i];
        settings::Settings s = periodic_settings(straight, settings::Method::tree);
        const Results expected = compute_periodic(cloud, s);
        s.lattice_sum = settings::LatticeSum::replicas, s.theta = 1, s.order = 4;
        for (const double accuracy : {1e-3, 1e-5})
            for (const int ranks : {1, 3}) {
                s.accuracy = accuracy;
                const Results r = compute_over(ranks, cloud, bisection(cloud, ranks), s, forces_alone());
                std::vector<double> errors;
                for (size_t i = 0; i < cloud.x.size(); ++i)
                    errors.push_back(std::hypot(r.ax[i] - expected.ax[i], r.ay[i] - expected.ay[i], r.az[i] - expected.az[i]) /
                                     size_of(expected, i));
                std::sort(errors.begin(), errors.end());
                EXPECT_LT(errors[errors.size() * 99 / 100], 2 * accuracy) << clustered << ranks;
                EXPECT_GT(errors[errors.size() * 99 / 100], 0.05 * accuracy) << clustered << ranks;
            }
    }
}

TEST(Replicas, PointsAndSubsets) {
    const Cloud cloud = random_charges(tilted, 300, true), points = random_charges(tilted, 40, true, 9);
    const settings::Settings s = replica_settings(tilted, settings::Method::tree, 1e-6);
    EXPECT_LT(rms_error(compute_periodic(cloud, s, field_at(points)),
                        oracle(cloud, periodic_settings(tilted), 0, &points)),
              1e-6);
    const Results expected = oracle(cloud, periodic_settings(tilted)),
                  active = compute_periodic(cloud, s, every(3, cloud));
    for (size_t i = 0; i < cloud.x.size(); i += 3)
        EXPECT_NEAR(active.ax[i], expected.ax[i], 1e-4 * size_of(expected, i));
}

/// Half of them into a hundredth of the box.
void clump(Cloud& cloud, const PeriodicBox& box) {
    const auto near = [](double at, double edge) { return edge * (0.4 + 0.2 * at / edge); };
    for (size_t i = 0; i < cloud.x.size(); i += 2) {
        cloud.x[i] = near(cloud.x[i], box.edge[0]);
        cloud.y[i] = near(cloud.y[i], box.edge[1]);
        cloud.z[i] = near(cloud.z[i], box.edge[2]);
    }
}

TEST(Replicas, AreNotGraftsOwnChoiceInALattice) { // whose forces are a hundredth of the typical field
    constexpr int edge = 37;
    Cloud cloud;
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    for (int i = 0; i < edge * edge * edge; ++i)
        add(cloud, (i % edge + 0.001 * normal(random)) / edge, (i / edge % edge + 0.001 * normal(random)) / edge,
            (i / (edge * edge) + 0.001 * normal(random)) / edge, 1);
    settings::Settings s = periodic_settings(straight, settings::Method::tree, settings::Precision::mixed);
    Choice forces = every(50, cloud);
    forces.potential = false;
    const Results expected = compute_periodic(cloud, s, forces);
    s.theta = 1, s.accuracy = 1e-3, s.order = -1, s.tuned = false;
    EXPECT_LT(rms_error(compute_periodic(cloud, s, forces), expected), 1e-3);
}

TEST(Replicas, AreGraftsOwnChoiceForManyForcesWhereTheyCanBe) {
    Choice forces;
    forces.virial = forces.potential = false;
    for (const bool possible : {true, false}) {
        const PeriodicBox box = possible ? straight : PeriodicBox{{1, 1, 60}};
        Cloud cloud = random_charges(box, 60000, false);
        clump(cloud, box);
        settings::Settings s = periodic_settings(box, settings::Method::tree, settings::Precision::mixed);
        s.theta = 1, s.accuracy = 1e-3, s.order = 2;
        s.lattice_sum = possible ? settings::LatticeSum::replicas : settings::LatticeSum::split;
        const Results expected = compute_periodic(cloud, s, forces);
        s.lattice_sum = settings::LatticeSum::auto_;
        for (const int ranks : {1, 2}) {
            const Results r = compute_over(ranks, cloud, bisection(cloud, ranks), s, forces);
            EXPECT_TRUE(ranks > 1 || r.ax == expected.ax) << possible;
            EXPECT_LT(rms_error(r, expected), 1e-3) << possible;
            EXPECT_EQ(r.reports[0].far_cells > 0, possible) << "the splitting has no polynomials";
        }
    }
}

TEST(Replicas, AreRefusedWhereTheyCannotBeExactEnough) {
    const Cloud cloud = random_charges(straight, 60);
    EXPECT_NE(refusal(cloud, replica_settings(straight, settings::Method::tree, 1e-13)).find("asks for 1e-13"),
              std::string::npos);
    const PeriodicBox thin{{1, 1, 60}};
    EXPECT_NE(refusal(random_charges(thin, 60), replica_settings(thin)).find("near images"),
              std::string::npos);
    settings::Settings s = replica_settings(straight);
    s.softening = settings::Softening::plummer, s.softening_length = 0.01;
    EXPECT_NE(refusal(cloud, s).find("plummer with ewald.method replicas"), std::string::npos);
    s.softening = settings::Softening::spline, s.softening_length = 0.5;
    EXPECT_NE(refusal(cloud, s).find("softening length 0.5"), std::string::npos);
    s = replica_settings(straight);
    s.open_axis = 2;
    EXPECT_NE(refusal(cloud, s).find("slab or wire"), std::string::npos);
    s.open_axis = -1, s.wire_axis = 2;
    EXPECT_NE(refusal(cloud, s).find("slab or wire"), std::string::npos);
    s = replica_settings(straight);
    s.ewald_accuracy = 0, s.accuracy = 1e-3; // mac.accuracy then
    EXPECT_EQ(refusal(cloud, s), "");
    s.accuracy = 1e-13;
    EXPECT_NE(refusal(cloud, s).find("asks for 1e-13"), std::string::npos);
}

} // namespace
} // namespace graft::engine::testing
