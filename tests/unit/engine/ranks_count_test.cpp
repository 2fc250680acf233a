// SPDX-License-Identifier: BSD-3-Clause
// The unit-charge test over ranks: every source counts 1, every target must meet each of them exactly once.
//
// Charges of 1 and a Plummer length of 2^40 make every interaction, pair or cell, the same number: the
// potential times that length counts the sources (without the target itself). Geometric criteria do not know
// the length, so walk, lists and essential trees are those of any computation.
#include "ranks_scene.hpp"

namespace graft::engine {
namespace {

using namespace testing;

constexpr double length = 1099511627776; // 2^40

settings::Settings testing_settings(tree::TreeType type, settings::MacType mac, double theta) {
    settings::Settings settings;
    settings.precision = settings::Precision::fp64;
    settings.softening = settings::Softening::plummer;
    settings.softening_length = length;
    settings.order = 0;
    settings.local = settings::Local::on; // with MAC error cells of targets hand polynomials down
    settings.tree_type = type;
    settings.mac = mac;
    settings.theta = theta;
    settings.accuracy = 1e-3 * length * length * length; // of fields r / length^3, where errors are as of 1 / r^2
    settings.leaf = 6;
    settings.group = 10;
    return settings;
}

Cloud unit_cloud(int64_t n) {
    Cloud cloud = make_cloud(n);
    std::fill(cloud.q.begin(), cloud.q.end(), 1.0);
    return cloud;
}

void expect_all_met(const Results& results, double expected, const std::string& where) {
    for (size_t i = 0; i < results.potential.size(); ++i)
        ASSERT_NEAR(-results.potential[i] * length, expected, 1e-6) << "target " << i << ", " << where;
}

std::string name(int ranks, const char* owners, tree::TreeType type, settings::MacType mac) {
    return std::to_string(ranks) + " ranks, " + owners + ", tree " + std::to_string(int(type)) + ", MAC " +
           std::to_string(int(mac));
}

/// Ranks, exchange.
class UnitCharge : public ::testing::TestWithParam<std::tuple<int, settings::Exchange>> {
  protected:
    const int ranks = std::get<0>(GetParam());
    settings::Settings counting(tree::TreeType type, settings::MacType mac, double theta) const {
        settings::Settings settings = testing_settings(type, mac, theta);
        settings.exchange = std::get<1>(GetParam());
        return settings;
    }
};

TEST_P(UnitCharge, EveryTargetMeetsEverySourceOnce) {
    const Cloud cloud = unit_cloud(1500);
    const std::pair<const char*, Owners> spreads[] = {
        {"slabs", slabs(cloud, ranks)},
        {"bisection", bisection(cloud, ranks)},
        {"scattered", scattered(cloud, ranks)},
        {"all on the last", all_on(cloud, ranks - 1)},
        {"half of the ranks", bisection(cloud, (ranks + 1) / 2)}};
    double polynomials = 0;
    for (const auto& [what, owners] : spreads)
        for (const tree::TreeType type : {tree::TreeType::octree, tree::TreeType::orb})
            for (const settings::MacType mac : {settings::MacType::edge, settings::MacType::box, settings::MacType::error}) {
                const Results results = compute_over(ranks, cloud, owners, counting(type, mac, 0.8));
                expect_all_met(results, static_cast<double>(cloud.size() - 1), name(ranks, what, type, mac));
                for (const Report& report : results.reports)
                    polynomials += report.far_cells;
            }
    EXPECT_GT(polynomials, 0);
}

TEST_P(UnitCharge, AtPointsAnywhere) {
    const Cloud cloud = unit_cloud(1200);
    Cloud points = make_cube(150);
    for (int k = 0; k < 12; ++k) // which accept whole branches, their own rank's too
        add(points, 4e4 + k, -3e4, 2e4, 1);
    Choice choice;
    choice.points = &points;
    for (const settings::MacType mac : {settings::MacType::edge, settings::MacType::box, settings::MacType::error})
        for (const Owners& owners : {scattered(points, ranks), all_on(points, 0), slabs(points, ranks)}) {
            choice.point_owners = owners;
            expect_all_met(compute_over(ranks, cloud, bisection(cloud, (ranks + 1) / 2),
                                        counting(tree::TreeType::octree, mac, 0.9), choice),
                           static_cast<double>(cloud.size()), "points");
        }
}

TEST_P(UnitCharge, ForActiveTargetsOnSomeRanks) {
    const Cloud cloud = unit_cloud(1200);
    Choice choice;
    for (int64_t i = 0; i < cloud.size(); ++i)
        choice.active.push_back(cloud.x[static_cast<size_t>(i)] > 1.5 && i % 3 == 0);
    const Results results = compute_over(ranks, cloud, slabs(cloud, ranks),
                                         counting(tree::TreeType::octree, settings::MacType::box, 0.9), choice);
    for (size_t i = 0; i < results.potential.size(); ++i)
        ASSERT_NEAR(-results.potential[i] * length,
                    choice.active[i] != 0 ? static_cast<double>(cloud.size() - 1) : 0, 1e-6);
}

TEST_P(UnitCharge, WithHeapsOfEqualPoints) {
    Cloud cloud = unit_cloud(1000);
    for (size_t i = 0; i < 300; ++i) // on all ranks, and a leaf of 100 and one of 200
        cloud.x[3 * i] = i % 3 ? 0.5 : -3, cloud.y[3 * i] = cloud.z[3 * i] = 0.25;
    for (const Owners& owners : {scattered(cloud, ranks), slabs(cloud, ranks)})
        expect_all_met(
            compute_over(ranks, cloud, owners, counting(tree::TreeType::octree, settings::MacType::box, 0.7)),
            static_cast<double>(cloud.size() - 1), "heaps");
}

TEST_P(UnitCharge, WithFewerParticlesThanRanks) {
    for (const int64_t n : {1, 2, 3, 5}) {
        const Cloud cloud = unit_cloud(n);
        for (const Owners& owners : {slabs(cloud, ranks), all_on(cloud, 0)})
            expect_all_met(
                compute_over(ranks, cloud, owners, counting(tree::TreeType::octree, settings::MacType::error, 1)),
                static_cast<double>(n - 1), "few particles");
    }
    const Cloud nothing = unit_cloud(0);
    compute_over(ranks, nothing, {}, counting(tree::TreeType::octree, settings::MacType::error, 1));
}

INSTANTIATE_TEST_SUITE_P(Over, UnitCharge,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4, 7, 8, 21),
                                            ::testing::Values(settings::Exchange::push, settings::Exchange::fetch)),
                         [](const auto& info) {
                             return std::to_string(std::get<0>(info.param)) + "Ranks" +
                                    (std::get<1>(info.param) == settings::Exchange::push ? "Push" : "Fetch");
                         });

} // namespace
} // namespace graft::engine
