// SPDX-License-Identifier: BSD-3-Clause
// Forces over in-process ranks against one rank and against all pairs.
#include "ranks_scene.hpp"

namespace graft::engine {
namespace {

using namespace testing;

settings::Settings exact_settings() {
    settings::Settings settings;
    settings.precision = settings::Precision::fp64;
    settings.leaf = 8;
    settings.group = 16;
    return settings;
}

TEST(Ranks, DirectMethodSumsAllPairsOverTheRing) {
    const Cloud cloud = make_cloud(700);
    for (const settings::Method method : {settings::Method::direct, settings::Method::reference}) {
        settings::Settings settings = exact_settings();
        settings.method = method;
        const Results one = compute_over(1, cloud, all_on(cloud, 0), settings);
        for (const int ranks : {2, 3, 8}) {
            const Results many = compute_over(ranks, cloud, scattered(cloud, ranks), settings);
            EXPECT_LT(largest(errors(many, one)), 1e-13);
            EXPECT_NEAR(many.energy, one.energy, 1e-12 * std::abs(one.energy));
            for (int c = 0; c < 3; ++c)
                EXPECT_NEAR(many.virial[c], one.virial[c], 1e-11 * std::abs(one.virial[c]));
        }
    }
}

TEST(Ranks, TreeForcesEqualAllPairsAsThetaGoesToZero) {
    const Cloud cloud = make_cloud(900);
    settings::Settings settings = exact_settings();
    settings.method = settings::Method::reference;
    const Results exact = compute_over(1, cloud, all_on(cloud, 0), settings);
    settings.method = settings::Method::tree;
    for (const settings::MacType mac : {settings::MacType::edge, settings::MacType::box, settings::MacType::error}) {
        settings.mac = mac;
        settings.theta = 0;
        for (const int ranks : {1, 2, 3, 7}) {
            const Results many = compute_over(ranks, cloud, bisection(cloud, ranks), settings);
            EXPECT_LT(largest(errors(many, exact)), 1e-12) << ranks << " ranks, MAC " << int(mac);
            EXPECT_NEAR(many.energy, exact.energy, 1e-12 * std::abs(exact.energy));
        }
    }
}

/// Percentiles of the error over those of one rank with the same settings.
class Accuracy : public ::testing::TestWithParam<std::tuple<settings::MacType, tree::TreeType>> {};

TEST_P(Accuracy, IsThatOfOneRank) {
    // k-d trees of other numbers of particles have other shapes, and errors: 2^14 particles over 2^k ranks
    // have none but leaves of 64, as on one rank.
    const bool orb = std::get<1>(GetParam()) == tree::TreeType::orb;
    const Cloud cloud = make_cloud(20000);
    settings::Settings settings;
    settings.method = settings::Method::direct;
    settings.precision = settings::Precision::fp64;
    const Results exact = compute_over(1, cloud, all_on(cloud, 0), settings);
    settings.method = settings::Method::tree;
    settings.precision = settings::Precision::mixed;
    settings.theta = 0.7;
    settings.mac = std::get<0>(GetParam());
    settings.tree_type = std::get<1>(GetParam());
    settings::Settings alone = settings; // each group with a polynomial of its own, as over ranks
    alone.walk = settings::Walk::transposed;
    const Results one = compute_over(1, cloud, all_on(cloud, 0), alone);
    const double most = orb ? 1.5 : 1.1;
    for (const int ranks : {2, 3, 4, 7, 8}) {
        settings.exchange = ranks % 2 ? settings::Exchange::fetch : settings::Exchange::push;
        const Results many = compute_over(ranks, cloud, bisection(cloud, ranks), settings);
        for (const double share : {0.5, 0.9, 0.99})
            EXPECT_LT(percentile(errors(many, exact), share), most * percentile(errors(one, exact), share))
                << ranks << " ranks, share " << share;
        EXPECT_NEAR(many.energy, exact.energy, 2e-4 * std::abs(exact.energy));
    }
}

INSTANTIATE_TEST_SUITE_P(With, Accuracy,
                         ::testing::Combine(::testing::Values(settings::MacType::edge, settings::MacType::box,
                                                              settings::MacType::error),
                                            ::testing::Values(tree::TreeType::octree, tree::TreeType::orb)));

TEST(Ranks, ScatteredParticlesGetGoodForcesAndTheLogSaysWhatItCosts) {
    const Cloud cloud = make_cloud(4000);
    settings::Settings settings = exact_settings();
    settings.method = settings::Method::direct;
    const Results exact = compute_over(1, cloud, all_on(cloud, 0), settings);
    settings.method = settings::Method::tree;
    const Results one = compute_over(1, cloud, all_on(cloud, 0), settings);
    Choice choice;
    choice.calls = 2;
    const Results scattered_ranks = compute_over(4, cloud, scattered(cloud, 4), settings, choice);
    for (const double share : {0.5, 0.9, 0.99})
        EXPECT_LT(percentile(errors(scattered_ranks, exact), share),
                  1.1 * percentile(errors(one, exact), share));
    ASSERT_EQ(scattered_ranks.warnings.size(), 1u); // by one rank, in the first of two calls
    EXPECT_NE(scattered_ranks.warnings[0].find("overlap"), std::string::npos) << scattered_ranks.warnings[0];
    EXPECT_TRUE(compute_over(4, cloud, bisection(cloud, 4), settings).warnings.empty());
}

TEST(Ranks, HistoryOfAccelerationsServesOverRanks) {
    const Cloud cloud = make_cloud(4000);
    settings::Settings settings = exact_settings();
    settings.method = settings::Method::direct;
    const Results exact = compute_over(1, cloud, all_on(cloud, 0), settings);
    settings.method = settings::Method::tree;
    settings.mac_history = true;
    Choice choice;
    choice.calls = 2;
    const Results one = compute_over(1, cloud, all_on(cloud, 0), settings, choice);
    const Results many = compute_over(5, cloud, bisection(cloud, 5), settings, choice);
    for (const double share : {0.5, 0.9, 0.99})
        EXPECT_LT(percentile(errors(many, exact), share), 1.1 * percentile(errors(one, exact), share));
}

/// The oracle knows lengths, signs and dimensions; theta = 0 leaves no approximation.
TEST(Ranks, LengthsSignsAndDimensionsAreThoseOfTheOracle) {
    Choice choice;
    choice.softening = true;
    for (const int dimension : {2, 3})
        for (const settings::Softening softening : {settings::Softening::plummer, settings::Softening::spline}) {
            Cloud cloud = make_cloud(500, 5, true);
            if (dimension == 2)
                std::fill(cloud.z.begin(), cloud.z.end(), 0.0);
            settings::Settings settings = exact_settings();
            settings.dimension = dimension;
            settings.softening = softening;
            settings.interaction = settings::Interaction::coulomb;
            settings.method = settings::Method::reference;
            const Results exact = compute_over(1, cloud, all_on(cloud, 0), settings, choice);
            settings.method = settings::Method::tree;
            settings.theta = 0;
            for (const settings::Walk walk : {settings::Walk::group, settings::Walk::transposed}) {
                settings.walk = walk;
                const Results many = compute_over(3, cloud, scattered(cloud, 3), settings, choice);
                EXPECT_LT(percentile(errors(many, exact), 0.99), 1e-11);
                EXPECT_NEAR(many.energy, exact.energy, 1e-11 * std::abs(exact.energy));
            }
        }
}

TEST(Ranks, TheResultDoesNotDependOnTheNumberOfThreads) {
    const Cloud cloud = make_cloud(3000);
    settings::Settings settings;
    const auto run = [&](int threads) {
        Choice choice;
        choice.threads = threads;
        return compute_over(3, cloud, slabs(cloud, 3), settings, choice);
    };
    const Results one = run(1), two = run(2);
    EXPECT_EQ(one.ax, two.ax);
    EXPECT_EQ(one.potential, two.potential);
    EXPECT_EQ(one.energy, two.energy);
}

TEST(Ranks, VirialAndEnergyAreOnEveryRankAndReportsCount) {
    const Cloud cloud = make_cloud(2000);
    const Results many = compute_over(4, cloud, slabs(cloud, 4), settings::Settings{});
    for (const double energy : many.energies)
        EXPECT_EQ(energy, many.energies[0]);
    for (const Report& report : many.reports) {
        double value = 0;
        EXPECT_GT(report.ranks.bytes_sent, 0);
        EXPECT_GT(report.ranks.messages, 0);
        EXPECT_GE(report.ranks.imbalance, 1);
        EXPECT_TRUE(report.find("ranks.imbalance", &value));
        EXPECT_TRUE(report.find("ranks.wait_s", &value));
        EXPECT_NE(report.json().find("\"ranks\":{\"size\":4"), std::string::npos) << report.json();
    }
    EXPECT_EQ(compute_over(1, cloud, all_on(cloud, 0), settings::Settings{}).reports[0].json().find("ranks"),
              std::string::npos);
}

} // namespace
} // namespace graft::engine
