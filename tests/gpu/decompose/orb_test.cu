// SPDX-License-Identifier: BSD-3-Clause
// Device ORB against the CPU's level strategy: the same cells to the last bit, the same order of points.
#include "orb_scene.cuh"

namespace graft::test {
namespace {

TEST_F(OrbTest, FewPointsAndAnyNumberOfParts) {
    Cases cases(7);
    for (const int64_t n : {0, 1, 2, 3, 17, 1000})
        for (const int32_t d : {1, 2, 3, 5, 7, 64, 1000, 4096}) {
            if (cases.skip())
                continue;
            both(make(uniform, n), parts(static_cast<int32_t>(test_size(d, 300))), "uniform");
        }
}

TEST_F(OrbTest, EveryShapeOfSet) {
    Cases cases(4);
    for (const Kind kind : {uniform, plummer, clustered, lattice, coincident, one_axis, far_away, disc})
        for (const int32_t d : {2, 7, 100}) {
            if (cases.skip())
                continue;
            both(make(kind, test_size(20011, 1511)), parts(d), "kind " + std::to_string(kind));
        }
}

TEST_F(OrbTest, TwoDimensions) {
    auto options = parts(37);
    options.dimension = 2;
    both(make(plummer, 5003), options, "2-D");
}

TEST_F(OrbTest, WeightsMixAndCap) {
    Cases cases(4), heavy(3);
    for (const Kind kind : {plummer, lattice, coincident}) {
        PointSet set = make(kind, test_size(9001, 1009));
        std::mt19937_64 random(7);
        std::lognormal_distribution<double> spread(0, 2);
        for (int64_t i = 0; i < set.size(); ++i)
            set.cost.push_back(i % 5 == 0 ? 0.0 : spread(random));
        for (const double mix : {0.0, 0.3, 1.0}) {
            if (cases.skip())
                continue;
            auto options = parts(61);
            options.mix = mix;
            both(set, options, "weights");
            options.cap = set.size() / 45;
            both(set, options, "weights, cap");
        }
        if (heavy.skip())
            continue;
        for (double& c : set.cost)
            c = 0;
        set.cost[17] = 1e300;
        both(set, parts(33), "one heavy point");
        set.cost[17] = 0;
        both(set, parts(33), "no cost at all");
    }
}

TEST_F(OrbTest, IdsDecideTies) {
    PointSet set = make(lattice, test_size(12007, 1009)); // primes
    for (int64_t i = 0; i < set.size(); ++i)
        set.id.push_back((i * 7919) % set.size() * 1000003 - 5000000000);
    both(set, parts(129), "ids");
    set = make(coincident, test_size(3001, 307));
    for (int64_t i = 0; i < set.size(); ++i)
        set.id.push_back(-i);
    both(set, parts(13), "ids, one place");
}

TEST_F(OrbTest, NarrowBracketsMissAndAreMadeGood) {
    auto options = parts(64);
    options.bracket_sigmas = 0.01;
    options.samples_per_cell = 64;
    for (const Kind kind : {uniform, clustered, lattice})
        both(make(kind, test_size(30011, 10007)), options, "narrow brackets");
    EXPECT_GT(missed, test_size(50, 25));
    PointSet set = make(plummer, test_size(30011, 10007));
    for (int64_t i = 0; i < set.size(); ++i)
        set.cost.push_back(1.0 + static_cast<double>(i % 7));
    both(set, options, "narrow brackets, weights");
}

TEST_F(OrbTest, RoundsOfAnyLength) {
    for (int levels = 1; levels <= 4; ++levels) {
        auto options = parts(300);
        options.levels_per_round = levels;
        both(make(plummer, test_size(25013, 1511)), options, "levels a round " + std::to_string(levels));
    }
}

TEST_F(OrbTest, MillionPoints) {
    for (const int32_t d : {5, 64, 1000, 4096})
        compare<float>(make(plummer, 1000003), parts(d), "million");
    compare<double>(make(clustered, 1000003), parts(4096), "million");
}

} // namespace
} // namespace graft::test
