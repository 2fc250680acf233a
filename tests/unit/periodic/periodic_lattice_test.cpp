// SPDX-License-Identifier: BSD-3-Clause
// Periodic boxes whose particles stand on a grid that is a little perturbed, as simulations begin: forces nearly cancel, and
// are as exact as mac.accuracy asks all the same.
#include "periodic_scene.hpp"

namespace graft::engine::testing {
namespace {

const PeriodicBox straight{{1, 1, 1}};

Cloud lattice(int edge, double jitter, bool salt = false) {
    Cloud cloud;
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal; // of width 1: 0 is none to it
    const auto at = [&](int k) { return (k + 0.5 + jitter * normal(random)) / edge; };
    for (int i = 0; i < edge * edge * edge; ++i) {
        const int x = i % edge, y = i / edge % edge, z = i / (edge * edge);
        add(cloud, at(x), at(y), at(z), salt && (x + y + z) % 2 != 0 ? -1 : 1);
    }
    return cloud;
}

/// As a deck without more in it.
settings::Settings left_to_graft(double accuracy, settings::LatticeSum sum = settings::LatticeSum::split) {
    settings::Settings s = periodic_settings(straight, settings::Method::tree, settings::Precision::auto_);
    s.theta = 1, s.accuracy = accuracy, s.order = -1, s.tuned = false, s.lattice_sum = sum;
    return s;
}

Choice forces_alone(int64_t step, const Cloud& cloud) {
    Choice choice = every(step, cloud);
    choice.potential = false;
    return choice;
}

Results all_pairs(const Cloud& cloud, const Choice& choice) {
    settings::Settings s = periodic_settings(straight, settings::Method::tree);
    s.ewald_accuracy = 1e-9;
    return compute_periodic(cloud, s, choice);
}

/// That 99 in 100 forces do not exceed.
double relative_error(const Results& r, const Results& expected) {
    std::vector<double> errors;
    for (size_t i = 0; i < expected.ax.size(); ++i)
        if (const double size = size_of(expected, i); size > 0)
            errors.push_back(std::hypot(r.ax[i] - expected.ax[i], r.ay[i] - expected.ay[i], r.az[i] - expected.az[i]) / size);
    std::sort(errors.begin(), errors.end());
    return errors[errors.size() * 99 / 100];
}

TEST(PeriodicLattice, ForcesAreAsExactAsAsked) {
    for (const double jitter : {1e-3, 1e-2, 0.1}) {
        const Cloud cloud = lattice(37, jitter);
        const Choice forces = forces_alone(50, cloud);
        const Results expected = all_pairs(cloud, forces);
        for (const double accuracy : {2.7e-3, 1e-4})
            EXPECT_LT(relative_error(compute_periodic(cloud, left_to_graft(accuracy), forces), expected), 1.5 * accuracy)
                << jitter << " " << accuracy;
    }
}

/// Too few for cells: pairs alone, and waves on a mesh that mac.accuracy allows to be as wrong as cells.
TEST(PeriodicLattice, SmallBoxesOnAMesh) {
    for (const int edge : {16, 24})
        for (const double jitter : {2e-2, 0.1}) {
            const Cloud cloud = lattice(edge, jitter);
            const Choice forces = forces_alone(edge, cloud);
            const Results expected = all_pairs(cloud, forces);
            for (const double accuracy : {5e-3, 5e-4}) {
                settings::Settings s = left_to_graft(accuracy);
                s.long_range = settings::LongRange::auto_;
                EXPECT_LT(relative_error(compute_periodic(cloud, s, forces), expected), 1.5 * accuracy)
                    << edge << " " << jitter << " " << accuracy;
            }
        }
}

TEST(PeriodicLattice, OverRanksAndScopes) {
    const Cloud cloud = lattice(37, 1e-3);
    const Choice forces = forces_alone(50, cloud);
    const Results expected = all_pairs(cloud, forces);
    for (const settings::TreeScope scope : {settings::TreeScope::local, settings::TreeScope::global}) {
        settings::Settings s = left_to_graft(2.7e-3);
        s.tree_scope = scope;
        const Results r = compute_over(3, cloud, bisection(cloud, 3), s, forces);
        EXPECT_LT(relative_error(r, expected), 1.5 * 2.7e-3) << static_cast<int>(scope);
        EXPECT_EQ(r.reports[1].order, r.reports[0].order) << "one decision";
    }
}

TEST(PeriodicLattice, SecondCallHasTheSameBits) {
    const Cloud cloud = lattice(37, 1e-2);
    Choice forces = forces_alone(50, cloud);
    const Results one = compute_periodic(cloud, left_to_graft(2.7e-3), forces);
    forces.calls = 2;
    EXPECT_EQ(compute_periodic(cloud, left_to_graft(2.7e-3), forces).ax, one.ax);
}

/// `auto` at 1e-3 beside all pairs; how often the box was split, and what was said of forces that cancel.
void expect_auto_sums(const Cloud& cloud, int64_t splits) {
    Choice forces = forces_alone(500, cloud);
    forces.log = core::LogLevel::info;
    const Results r = compute_periodic(cloud, left_to_graft(1e-3, settings::LatticeSum::auto_), forces);
    const auto said = [&](const char* words) {
        return std::ranges::count_if(r.warnings, [&](const std::string& text) { return text.find(words) != std::string::npos; });
    };
    EXPECT_EQ(said("periodic box: alpha"), splits);
    EXPECT_EQ(said("are summed again, split"), 1);
    forces.log = core::LogLevel::warning;
    EXPECT_LT(relative_error(r, all_pairs(cloud, forces)), 1.5e-3);
}

/// A tenth as many again, in a small copy of the box.
void add_clump(Cloud& cloud, double mass) {
    for (size_t i = 0, n = cloud.x.size(); i < n; i += 10) {
        cloud.x.push_back(0.3 + 0.002 * cloud.x[i]);
        cloud.y.push_back(0.4 + 0.002 * cloud.y[i]);
        cloud.z.push_back(0.4 + 0.002 * cloud.z[i]);
        cloud.q.push_back(mass);
        cloud.softening.push_back(0);
    }
}

TEST(PeriodicLattice, AutoTakesNoGridForAClump) { // although a sample in equal steps of such a grid looks like one
    expect_auto_sums(lattice(64, 1e-2), 2);
}

TEST(PeriodicLattice, ReplicasThatWereGraftsOwnChoiceAreSummedAgain) {
    Cloud cloud = lattice(64, 1e-2);
    add_clump(cloud, 0.01);
    expect_auto_sums(cloud, 1);
}

TEST(PeriodicLattice, AClumpOfNextToNoMassMakesNoField) { // by which errors would be measured
    Cloud cloud = lattice(64, 1e-2);
    add_clump(cloud, 1e-12);
    expect_auto_sums(cloud, 2);
}

TEST(PeriodicLattice, AWarningWhereTheyCannotBe) {
    const Cloud cloud = lattice(37, 1e-3);
    Choice forces = forces_alone(50, cloud);
    settings::Settings s = left_to_graft(1e-4);
    EXPECT_TRUE(compute_periodic(cloud, s, forces).warnings.empty());
    s.precision = settings::Precision::mixed;
    forces.calls = 2;
    const std::vector<std::string> said = compute_periodic(cloud, s, forces).warnings;
    ASSERT_EQ(said.size(), 1);
    EXPECT_NE(said[0].find("may be wrong by"), std::string::npos) << said[0];
}

/// How often a box is split: once a sum.
int64_t sums(const Cloud& cloud, int ranks) {
    Choice forces = forces_alone(7, cloud);
    forces.log = core::LogLevel::info;
    const Results r = compute_over(ranks, cloud, bisection(cloud, ranks), left_to_graft(2.7e-3), forces);
    return std::ranges::count_if(r.warnings, [](const std::string& text) { return text.starts_with("periodic box: alpha"); });
}

TEST(PeriodicLattice, OtherBoxesAreSummedOnce) { // and so have the bits they had
    for (const int ranks : {1, 3}) {
        EXPECT_EQ(sums(random_charges(straight, 50000, true), ranks), 1) << "a salt";
        EXPECT_EQ(sums(random_charges(straight, 50000, false), ranks), 1);
        Cloud clump = random_charges(straight, 20000, false);
        for (size_t i = 0; i < clump.x.size(); i += 2)
            clump.x[i] = 0.3 + 0.02 * clump.x[i], clump.y[i] = 0.98 + 0.03 * clump.y[i];
        EXPECT_EQ(sums(clump, ranks), 1);
        EXPECT_GT(sums(lattice(37, 0.01), ranks), 1);
    }
}

/// Its own images do not move it: its field is that of the others, however heavy it is. Uniform in the box, and in a clump.
TEST(PeriodicHeavyBody, FeelsTheOthers) {
    for (const double clump : {0.0, 0.02})
        for (const settings::LatticeSum sum : {settings::LatticeSum::split, settings::LatticeSum::auto_}) {
            Cloud cloud;
            std::mt19937_64 random(2);
            std::uniform_real_distribution<double> uniform;
            std::normal_distribution<double> normal;
            const auto at = [&] { return clump > 0 ? 0.5 + clump * normal(random) : uniform(random); };
            for (int i = 0; i < 6000; ++i) {
                const double x = at(), y = at(), z = at();
                add(cloud, x, y, z, i == 0 ? 0.0 : 1.0);
            }
            Choice first;
            first.potential = first.virial = false;
            first.active.assign(cloud.x.size(), 0), first.active[0] = 1;
            const Results expected = all_pairs(cloud, first);
            first.active.clear();
            for (const double mass : {0.1, 1.0, 10.0, 1e3, 1e5}) {
                cloud.q[0] = 6000 * mass;
                for (const int ranks : {1, 3}) {
                    const Results r = compute_over(ranks, cloud, bisection(cloud, ranks), left_to_graft(1e-3, sum), first);
                    EXPECT_LT(std::hypot(r.ax[0] - expected.ax[0], r.ay[0] - expected.ay[0], r.az[0] - expected.az[0]),
                              1e-3 * size_of(expected, 0))
                        << "clump " << clump << " sum " << static_cast<int>(sum) << " mass " << mass << " ranks " << ranks;
                }
            }
        }
}

} // namespace
} // namespace graft::engine::testing
