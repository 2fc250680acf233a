// SPDX-License-Identifier: BSD-3-Clause
// tree.scope global: forces over any number of ranks equal those of one rank to rounding, at any opening
// angle.
#include "ranks_scene.hpp"

namespace graft::engine {
namespace {

using namespace testing;

settings::Settings global_settings() {
    settings::Settings settings;
    settings.precision = settings::Precision::fp64;
    settings.tree_scope = settings::TreeScope::global;
    settings.leaf = 12;
    settings.group = 20;
    return settings;
}

void expect_equal(const Results& many, const Results& one, double tolerance, const std::string& where) {
    EXPECT_LT(largest(errors(many, one)), tolerance) << where;
    EXPECT_NEAR(many.energy, one.energy, 1e-13 * std::abs(one.energy)) << where;
    double pairs = 0, cells = 0;
    for (const Report& report : many.reports)
        pairs += report.pairs, cells += report.cells;
    EXPECT_EQ(pairs, one.reports[0].pairs) << where; // the very same decisions
    EXPECT_EQ(cells, one.reports[0].cells) << where;
}

class GlobalTree : public ::testing::TestWithParam<int> {};

TEST_P(GlobalTree, FetchesTheSameNodes) {
    const int ranks = GetParam();
    const Cloud cloud = make_cloud(3000);
    settings::Settings settings = global_settings();
    const Results one = compute_over(1, cloud, all_on(cloud, 0), settings);
    settings.exchange = settings::Exchange::fetch;
    expect_equal(compute_over(ranks, cloud, scattered(cloud, ranks), settings), one, 1e-12, "fetch");
}

TEST_P(GlobalTree, EqualsOneRankAtAnyAngle) {
    const int ranks = GetParam();
    const Cloud cloud = make_cloud(3000);
    settings::Settings settings = global_settings();
    for (const settings::MacType mac : {settings::MacType::edge, settings::MacType::box, settings::MacType::error})
        for (const double theta : {0.3, 0.8, 1.3}) {
            settings.mac = mac;
            settings.theta = theta;
            const Results one = compute_over(1, cloud, all_on(cloud, 0), settings);
            for (const Owners& owners :
                 {slabs(cloud, ranks), scattered(cloud, ranks), all_on(cloud, ranks - 1)})
                expect_equal(compute_over(ranks, cloud, owners, settings), one, 1e-12,
                             std::to_string(ranks) + " ranks, MAC " + std::to_string(int(mac)));
        }
}

TEST_P(GlobalTree, EqualsOneRankInManyShapes) {
    const int ranks = GetParam();
    Choice choice;
    choice.softening = true;
    for (const int dimension : {2, 3})
        for (const bool mixed_signs : {false, true})
            for (const int leaf : {1, 30})
                for (const settings::Softening softening : {settings::Softening::plummer, settings::Softening::spline}) {
                    Cloud cloud = make_cloud(900, 7, mixed_signs);
                    if (dimension == 2)
                        std::fill(cloud.z.begin(), cloud.z.end(), 0.0);
                    settings::Settings settings = global_settings();
                    settings.dimension = dimension;
                    settings.leaf = leaf;
                    settings.group = 31 - leaf;
                    settings.softening = softening;
                    settings.order = leaf == 1 ? 4 : 1;
                    settings.interaction = mixed_signs ? settings::Interaction::coulomb : settings::Interaction::gravity;
                    const Results one = compute_over(1, cloud, all_on(cloud, 0), settings, choice);
                    const Results many =
                        compute_over(ranks, cloud, scattered(cloud, ranks), settings, choice);
                    // Forces of both signs cancel: their error is that of the largest ones.
                    expect_equal(many, one, mixed_signs ? 1e-10 : 1e-12,
                                 "dimension " + std::to_string(dimension) + ", leaf " + std::to_string(leaf));
                }
}

TEST_P(GlobalTree, EqualsOneRankWithHistoryAndInAGivenBox) {
    const int ranks = GetParam();
    const Cloud cloud = make_cloud(2000);
    settings::Settings settings = global_settings();
    settings.mac_history = true;
    settings.has_box = true;
    for (int a = 0; a < 3; ++a)
        settings.box_lower[a] = -300, settings.box_upper[a] = 300;
    Choice choice;
    choice.calls = 2;
    const Results one = compute_over(1, cloud, all_on(cloud, 0), settings, choice);
    expect_equal(compute_over(ranks, cloud, scattered(cloud, ranks), settings, choice), one, 1e-12,
                 "history");
}

/// Groups that are smaller the more particles are around them (lists/groups.hpp), also around a border.
TEST_P(GlobalTree, EqualsOneRankWhereGroupsAreCutShort) {
    const int ranks = GetParam();
    const Cloud cloud = make_cloud(3000);
    settings::Settings settings = global_settings();
    for (const int group : {2, 5, 9}) {
        settings.group = group;
        settings.leaf = 4;
        const Results one = compute_over(1, cloud, all_on(cloud, 0), settings);
        for (const Owners& owners : {slabs(cloud, ranks), scattered(cloud, ranks)})
            expect_equal(compute_over(ranks, cloud, owners, settings), one, 1e-12,
                         "groups of " + std::to_string(group));
    }
}

TEST_P(GlobalTree, ActiveTargetsAndPointsAreRight) {
    const int ranks = GetParam();
    const Cloud cloud = make_cloud(2000);
    settings::Settings settings = global_settings();
    settings.theta = 0.4;
    Choice some;
    for (int64_t i = 0; i < cloud.size(); ++i)
        some.active.push_back(i % 7 == 0);
    const Results one = compute_over(1, cloud, all_on(cloud, 0), settings, some);
    const Results many = compute_over(ranks, cloud, scattered(cloud, ranks), settings, some);
    EXPECT_LT(percentile(errors(many, one), 0.9), 2e-3); // groups may end at the borders
    const Cloud points = make_cube(100);
    Choice at;
    at.points = &points;
    at.point_owners = scattered(points, 1);
    const Results one_at = compute_over(1, cloud, all_on(cloud, 0), settings, at);
    at.point_owners = scattered(points, ranks);
    const Results many_at = compute_over(ranks, cloud, scattered(cloud, ranks), settings, at);
    EXPECT_LT(percentile(errors(many_at, one_at), 0.9), 2e-3);
}

TEST_P(GlobalTree, HeapsAndFewParticles) {
    const int ranks = GetParam();
    settings::Settings settings = global_settings();
    Cloud cloud = make_cloud(1000);
    for (size_t i = 0; i < 300; ++i)
        cloud.x[3 * i] = i % 3 ? 0.5 : -3, cloud.y[3 * i] = cloud.z[3 * i] = 0.25;
    expect_equal(compute_over(ranks, cloud, scattered(cloud, ranks), settings),
                 compute_over(1, cloud, all_on(cloud, 0), settings), 1e-12, "heaps");
    for (const int64_t n : {0, 1, 2, 5, 21, 60}) {
        const Cloud few = make_cloud(n);
        expect_equal(compute_over(ranks, few, scattered(few, ranks), settings),
                     compute_over(1, few, all_on(few, 0), settings), 1e-12, std::to_string(n) + " particles");
    }
}

INSTANTIATE_TEST_SUITE_P(Over, GlobalTree, ::testing::Values(2, 3, 4, 7, 8),
                         [](const auto& info) { return std::to_string(info.param) + "Ranks"; });

TEST(GlobalTreeRefusals, NamesWhatIsWrong) {
    const Cloud cloud = make_cloud(100);
    settings::Settings settings = global_settings();
    settings.tree_type = tree::TreeType::orb;
    EXPECT_THROW(compute_over(2, cloud, slabs(cloud, 2), settings), core::Error);
    settings = global_settings();
    settings.has_box = true;
    for (int a = 0; a < 3; ++a)
        settings.box_lower[a] = -0.1, settings.box_upper[a] = 0.1;
    try {
        compute_over(2, cloud, slabs(cloud, 2), settings);
        FAIL();
    } catch (const core::Error& error) {
        EXPECT_EQ(error.status(), core::Status::value);
        EXPECT_NE(std::string(error.what()).find("outside"), std::string::npos) << error.what();
    }
}

} // namespace
} // namespace graft::engine
