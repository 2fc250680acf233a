// Forces over in-process ranks against one rank and against all pairs.
#include "ranks_scene.hpp"

namespace graft::pipeline {
namespace {

using namespace testing;

Settings exact_settings() {
    Settings settings;
    settings.precision = Precision::fp64;
    settings.leaf = 8;
    settings.group = 16;
    return settings;
}

TEST(Ranks, DirectMethodSumsAllPairsOverTheRing) {
    const Cloud cloud = make_cloud(700);
    for (const Method method : {Method::direct, Method::reference}) {
        Settings settings = exact_settings();
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
    Settings settings = exact_settings();
    settings.method = Method::reference;
    const Results exact = compute_over(1, cloud, all_on(cloud, 0), settings);
    settings.method = Method::tree;
    for (const MacType mac : {MacType::edge, MacType::box, MacType::error}) {
        settings.mac = mac;
        settings.theta = 0;
        for (const int ranks : {1, 2, 3, 7}) {
            const Results many = compute_over(ranks, cloud, bisection(cloud, ranks), settings);
            EXPECT_LT(largest(errors(many, exact)), 1e-12) << ranks << " ranks, MAC " << int(mac);
            EXPECT_NEAR(many.energy, exact.energy, 1e-12 * std::abs(exact.energy));
        }
    }
}

TEST(Ranks, TreeForcesAreAsGoodAsOnOneRank) {
    const Cloud cloud = make_cloud(16000);
    Settings settings;
    settings.method = Method::direct;
    settings.precision = Precision::fp64;
    const Results exact = compute_over(1, cloud, all_on(cloud, 0), settings);
    settings.method = Method::tree;
    settings.precision = Precision::mixed;
    settings.theta = 0.7;
    for (const MacType mac : {MacType::edge, MacType::box, MacType::error}) {
        settings.mac = mac;
        const Results one = compute_over(1, cloud, all_on(cloud, 0), settings);
        for (const int ranks : {2, 5, 8}) {
            const Results many = compute_over(ranks, cloud, bisection(cloud, ranks), settings);
            for (const double share : {0.5, 0.9, 0.99})
                EXPECT_LT(percentile(errors(many, exact), share), 1.1 * percentile(errors(one, exact), share))
                    << ranks << " ranks, MAC " << int(mac) << ", share " << share;
        }
    }
}

} // namespace
} // namespace graft::pipeline
