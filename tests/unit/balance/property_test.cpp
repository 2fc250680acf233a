// SPDX-License-Identifier: BSD-3-Clause
// Degenerate inputs of every sort, every kind, 1 to 8 ranks: a valid result, right measures, no needless
// error.
#include "run_balance.hpp"

namespace graft::balance {
namespace {

using test::balance_cloud;
using test::Cloud;

struct Case {
    const char* name;
    Cloud cloud;
    std::vector<int32_t> homes; // for 8 ranks; taken modulo the number of ranks
    bool divisible;             // an even share is possible: at most one heaviest object away from it
};

Cloud coincident(int64_t n) {
    Cloud cloud;
    for (int64_t i = 0; i < n; ++i)
        cloud.add(0.25, -3, 1e6, 1, i);
    return cloud;
}

Cloud wide_weights(int64_t n) {
    Cloud cloud = test::uniform_cloud(n, 0, 1, 11);
    for (size_t i = 0; i < cloud.size(); ++i)
        cloud.cost[i] =
            std::pow(10.0, -6 + 12.0 * static_cast<double>(i * 7919 % cloud.size()) / static_cast<double>(n));
    return cloud;
}

std::vector<Case> cases() {
    std::vector<Case> result;
    const auto add = [&](const char* name, Cloud cloud, bool scattered, bool divisible) {
        std::vector<int32_t> homes = test::random_owners(cloud.size(), 8, 5);
        if (!scattered)
            std::fill(homes.begin(), homes.end(), 0);
        result.push_back({name, std::move(cloud), std::move(homes), divisible});
    };
    add("nothing", {}, true, false);
    add("one object", test::uniform_cloud(1, 0, 1, 1), false, false);
    add("fewer than ranks", test::uniform_cloud(5, 0, 1, 2), false, false);
    add("all on one rank", test::uniform_cloud(2000, 0, 1, 3), false, true);
    add("all equal", coincident(1000), true, true);
    add("all equal on one rank", coincident(1000), false, true);
    add("twelve orders of magnitude", wide_weights(1500), true, false);
    Cloud super = test::uniform_cloud(1000, 0, 1, 4);
    super.cost[500] = 5000;
    add("a super-object", std::move(super), true, false);
    Cloud zero = test::uniform_cloud(800, 0, 1, 5);
    std::fill(zero.cost.begin(), zero.cost.end(), 0.0);
    add("no cost at all", std::move(zero), false, true);
    Cloud mostly = test::uniform_cloud(800, 0, 1, 6);
    for (size_t i = 1; i < mostly.size(); ++i)
        mostly.cost[i] = 0;
    add("one cost only", std::move(mostly), true, false);
    Cloud line = test::uniform_cloud(900, 0, 1, 7);
    std::fill(line.y.begin(), line.y.end(), 2.0);
    std::fill(line.z.begin(), line.z.end(), -1e-300);
    add("a line", std::move(line), true, true);
    Cloud far = test::uniform_cloud(900, 0, 1, 8);
    far.x[13] = 1e150;
    add("an outlier", std::move(far), true, true);
    Cloud tiny = test::uniform_cloud(700, 0, 1, 9);
    for (double& cost : tiny.cost)
        cost *= 1e-300;
    add("tiny costs", std::move(tiny), true, true);
    return result;
}

void check(const Case& the, int size, const Settings& settings) {
    SCOPED_TRACE(std::string(the.name) + ", " + std::to_string(size) + " ranks, kind " +
                 std::to_string(static_cast<int>(settings.kind)) + (settings.fuzzy ? ", fuzzy" : ""));
    std::vector<int32_t> homes = the.homes;
    for (int32_t& home : homes)
        home %= size;
    const auto [report, owner] = balance_cloud(the.cloud, homes, size, settings);
    EXPECT_FALSE(report.reason.empty());
    EXPECT_NEAR(report.before.imbalance_work, test::max_over_mean(the.cloud, homes, size), 1e-9 * size);
    EXPECT_NEAR(report.after.imbalance_work, test::max_over_mean(the.cloud, owner, size), 1e-9 * size);
    EXPECT_LE(report.after.imbalance_weight, report.before.imbalance_weight * (1 + 1e-9));
    if (report.decision != Decision::taken) {
        EXPECT_EQ(owner, homes);
    }
    if (the.divisible) {
        EXPECT_LT(report.after.imbalance_weight, 1.15);
    }
}

TEST(Properties, DegenerateInputsOfEverySort) {
    const std::vector<Case> all = cases();
    for (const Case& the : all)
        for (int size = 1; size <= 8; ++size)
            for (const Kind kind : test::all_kinds) {
                Settings settings;
                settings.kind = kind;
                settings.tolerance = 1.001;
                check(the, size, settings);
            }
}

TEST(Properties, DegenerateInputsWithFuzzyCuts) {
    const std::vector<Case> all = cases();
    for (const Case& the : all)
        for (const int size : {1, 2, 5, 8}) {
            Settings settings;
            settings.kind = Kind::orb_distributed;
            settings.tolerance = 1.001;
            settings.fuzzy = true;
            check(the, size, settings);
        }
}

TEST(Properties, HalvingServesTheDistributedKindToo) {
    const std::vector<Case> all = cases();
    for (const Case& the : all)
        for (const int size : {2, 3, 8}) {
            Settings settings;
            settings.kind = Kind::orb_distributed;
            settings.decompose.strategy = decompose::Strategy::halving;
            settings.tolerance = 1.001;
            check(the, size, settings);
        }
}

} // namespace
} // namespace graft::balance
