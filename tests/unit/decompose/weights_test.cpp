// SPDX-License-Identifier: BSD-3-Clause
// Weights as integers: their ratios, their limits, and sums over ranks that pass 64 bits.
#include "decompose/weights.hpp"

#include "thread_ranks.hpp"
#include "core/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace graft;
using namespace graft::decompose;

namespace {

struct Rule {
    core::Memory memory;
    std::vector<double> cost; // the rule keeps a pointer to it
    WeightRule rule;
    double total = 0;
    Rule(std::vector<double> costs, double mix, int64_t times = 1) : cost(std::move(costs)) {
        const double most = *std::max_element(cost.begin(), cost.end());
        WeightRule::Sums sums =
            WeightRule::Sums::of({memory, 2}, cost.data(), static_cast<int64_t>(cost.size()), most);
        sums.count *= static_cast<Wide>(times); // as if so many ranks had the same
        sums.cost *= static_cast<Wide>(times);
        rule = WeightRule(cost.data(), most, sums, mix);
        for (size_t i = 0; i < cost.size(); ++i)
            total += static_cast<double>(rule(static_cast<int64_t>(i)));
    }
};

std::vector<double> decades(double from, double to, int64_t n) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> exponent(std::log10(from), std::log10(to));
    std::vector<double> cost;
    for (int64_t i = 0; i < n; ++i)
        cost.push_back(std::pow(10.0, exponent(random)));
    return cost;
}

} // namespace

TEST(Weights, ProportionalToCost) {
    for (const double unit : {1e-300, 1e-3, 1.0, 1e295}) {
        std::vector<double> cost = decades(unit, unit * 1e12, 1000);
        const Rule r(cost, 1);
        double sum = 0;
        for (const double c : cost)
            sum += c / unit;
        for (size_t i = 0; i < cost.size(); ++i)
            EXPECT_NEAR(static_cast<double>(r.rule(static_cast<int64_t>(i))) / r.total, cost[i] / unit / sum,
                        std::ldexp(1.0, -50)) // half a unit of 2^-52 of all or less, and rounding here
                << unit;
        EXPECT_LT(r.total, std::ldexp(1.0, 63));
        EXPECT_GT(r.total, std::ldexp(1.0, 58));
    }
    const Rule denormal({5e-324, 1e-323, 0, 2e-323}, 1);
    EXPECT_EQ(denormal.rule(1), 2 * denormal.rule(0));
    EXPECT_EQ(denormal.rule(3), 4 * denormal.rule(0));
    EXPECT_EQ(denormal.rule(2), 0U);
}

TEST(Weights, WholeNumbersLoseNothing) {
    const std::vector<double> cost = {1, 2, 3, 1000003, 77, 0, 16777213};
    const Rule r(cost, 1);
    for (size_t i = 0; i < cost.size(); ++i)
        EXPECT_EQ(r.rule(static_cast<int64_t>(i)), r.rule(0) * static_cast<uint64_t>(cost[i]));
}

TEST(Weights, MixOfCountAndCost) {
    const std::vector<double> cost = {0, 1, 2, 3, 94};
    for (const double mix : {0.001, 0.25, 0.75, 0.999}) {
        const Rule r(cost, mix);
        for (size_t i = 0; i < cost.size(); ++i)
            EXPECT_NEAR(static_cast<double>(r.rule(static_cast<int64_t>(i))) / r.total,
                        (1 - mix) / 5 + mix * cost[i] / 100, 1e-14);
    }
    for (const double mix : {0.0, 1.0}) {
        const Rule r(mix == 0 ? cost : std::vector<double>(3, 0), mix);
        EXPECT_TRUE(r.rule.unit());
        EXPECT_EQ(r.rule(0), 1U);
    }
}

TEST(Weights, ManyPointsAndASuperObject) {
    std::vector<double> cost(1000, 1e-12);
    cost[3] = 1e12;
    const Rule few(cost, 1);
    EXPECT_LE(few.rule(3), uint64_t{1} << 62);
    const Rule many(decades(1, 100, 1000), 1, int64_t{1} << 30); // 2^40 points: the mean keeps 38 bits
    EXPECT_GE(many.total / 1000, std::ldexp(1.0, 37));
    EXPECT_LE(many.total / 1000, std::ldexp(1.0, 38) * 1.001);
}

TEST(Weights, SumsOverRanksPass64Bits) {
    for (const int ranks : {1, 3, 8})
        comm::run_ranks(ranks, [&](comm::Communicator& comm) {
            const auto r = static_cast<Wide>(comm.rank() + 1);
            Wide values[3] = {r << 100, (Wide{1} << 84) - 1, r};
            allreduce_wide(comm, values, 3);
            const auto n = static_cast<Wide>(ranks), sum = n * (n + 1) / 2;
            EXPECT_TRUE(values[0] == sum << 100);
            EXPECT_TRUE(values[1] == n * ((Wide{1} << 84) - 1));
            EXPECT_TRUE(values[2] == sum);
        });
}
