// SPDX-License-Identifier: BSD-3-Clause
// How many batches a GPU's memory asks for: what is planned fits, is not less than needed, and comes to an
// end.
#include "engine/gpu/batches_that_fit.hpp"

#include <gtest/gtest.h>

#include <random>

namespace {

using namespace graft::engine;

constexpr BatchShape shape{20000, 0, false, true};
constexpr int64_t plenty = int64_t{1} << 50;

/// A computation whose groups have these numbers each: what the largest of `batches` needs.
struct Computation {
    std::vector<BatchNumbers> groups;
    BatchNumbers needs(int64_t batches) const {
        BatchNumbers most;
        const auto n = static_cast<int64_t>(groups.size());
        for (int64_t b = 0; b < batches; ++b) {
            BatchNumbers sum;
            for (int64_t g = n * b / batches; g < n * (b + 1) / batches; ++g) {
                const BatchNumbers& one = groups[static_cast<size_t>(g)];
                sum.node_entries += one.node_entries, sum.leaf_entries += one.leaf_entries;
                sum.tasks += one.tasks, sum.slots += one.slots;
            }
            most.node_entries = std::max(most.node_entries, sum.node_entries);
            most.leaf_entries = std::max(most.leaf_entries, sum.leaf_entries);
            most.tasks = std::max(most.tasks, sum.tasks);
            most.slots = std::max(most.slots, sum.slots);
        }
        return most;
    }
};

Computation make_computation(int64_t groups, bool with_outliers) {
    std::mt19937_64 random(3);
    std::uniform_int_distribution<int64_t> entries(200, 1600);
    Computation made;
    for (int64_t g = 0; g < groups; ++g) {
        const int64_t n = entries(random) * (with_outliers && g % 977 == 5 ? 60 : 1);
        made.groups.push_back({n, n / 16, 1 + n / 300, 45 * (2 + n / 300)});
    }
    return made;
}

bool has_room(const BatchNumbers& capacity, const BatchNumbers& needs) {
    return capacity.node_entries >= needs.node_entries && capacity.leaf_entries >= needs.leaf_entries &&
           capacity.tasks >= needs.tasks && capacity.slots >= needs.slots;
}

/// The engine's loop: plan, compute, learn, plan again. Returns how often it computed; 0: no plan.
int repeats_until_done(const Computation& c, BatchShape of, const BatchLimits& limits, BatchPlan& plan) {
    of.groups = static_cast<int64_t>(c.groups.size());
    plan = plan_batches(of, limits, 1, guess_numbers(of, of.groups * 45, 64));
    for (int repeat = 1; plan.fits && repeat < 60; ++repeat) {
        EXPECT_LE(batch_bytes(of, plan.batches, plan.capacity), limits.bytes);
        const BatchNumbers needs = c.needs(plan.batches);
        if (has_room(plan.capacity, needs))
            return repeat;
        plan = plan_batches(of, limits, plan.batches, needs);
    }
    return 0;
}

TEST(DeviceBatches, OneBatchWhereThereIsRoom) {
    const BatchNumbers needed{1000000, 50000, 3000, 100000};
    const BatchPlan plan = plan_batches(shape, {plenty, plenty}, 1, needed);
    EXPECT_TRUE(plan.fits);
    EXPECT_EQ(plan.batches, 1);
    EXPECT_GE(plan.capacity.node_entries, needed.node_entries * 6 / 5);
    EXPECT_GE(plan.capacity.slots, needed.slots * 6 / 5);
    EXPECT_EQ(plan.bytes, batch_bytes(shape, 1, plan.capacity));
}

TEST(DeviceBatches, ListsAlonePassTheirLimit) {
    const BatchNumbers needed{10000000, 500000, 3000, 100000};
    const BatchPlan plan = plan_batches(shape, {plenty, 1 << 20}, 1, needed);
    EXPECT_TRUE(plan.fits);
    EXPECT_GT(plan.batches, 40);
    EXPECT_LE(list_bytes(plan.capacity), 1 << 20);
    const BatchPlan alone = plan_batches({1, 0, false, true}, {plenty, 1 << 20}, 1, needed);
    EXPECT_TRUE(alone.fits) << "the limit of lists is no reason to fail where batches cannot help";
    EXPECT_EQ(alone.batches, 1);
}

/// Partial sums are bounded as lists are: 2e5 particles once asked for 748 MB of them.
TEST(DeviceBatches, PartialSumsAreBounded) {
    const BatchShape of{4700, 0, false, true};
    const BatchNumbers guess = guess_numbers(of, 200000, 64);
    EXPECT_LT(guess.slots * 16, int64_t{100} << 20);
    const BatchPlan plan = plan_batches(of, {int64_t{8} << 20, plenty}, 1, guess);
    EXPECT_TRUE(plan.fits);
    EXPECT_GT(plan.batches, 1);
    EXPECT_LE(batch_bytes(of, plan.batches, plan.capacity), int64_t{8} << 20);
    const BatchPlan in_double = plan_batches({4700, 0, true, true}, {int64_t{8} << 20, plenty}, 1, guess);
    EXPECT_GE(in_double.batches, plan.batches);
}

TEST(DeviceBatches, EveryLimitEndsInAPlanOrWithoutOne) {
    for (const bool outliers : {false, true}) {
        const Computation c = make_computation(5000, outliers);
        BatchPlan free_plan;
        ASSERT_GT(repeats_until_done(c, shape, {plenty, plenty}, free_plan), 0);
        EXPECT_EQ(free_plan.batches, 1);
        int64_t batches = 1;
        for (const double share : {0.9, 0.3, 0.1, 0.03, 0.01, 0.003}) {
            BatchPlan plan;
            if (outliers && share < 0.01)
                continue; // less than the longest group takes
            const auto bytes = static_cast<int64_t>(share * static_cast<double>(free_plan.bytes));
            const int repeats = repeats_until_done(c, shape, {bytes, plenty}, plan);
            EXPECT_GT(repeats, 0) << share << " of " << free_plan.bytes;
            EXPECT_LE(repeats, 16) << share;
            EXPECT_GE(plan.batches, batches);
            batches = plan.batches;
        }
    }
}

TEST(DeviceBatches, OnlyASingleGroupMayFail) {
    const Computation c = make_computation(3000, true);
    int64_t longest = 0;
    for (const BatchNumbers& one : c.groups)
        longest = std::max(longest, batch_bytes({3000, 0, false, true}, 3000, one));
    BatchPlan plan;
    EXPECT_GT(repeats_until_done(c, shape, {longest + longest / 8, plenty}, plan), 0);
    EXPECT_EQ(repeats_until_done(c, shape, {longest / 2, plenty}, plan), 0);
    EXPECT_FALSE(plan.fits);
    EXPECT_GT(plan.bytes, longest / 2) << "what would do, for the message";
}

TEST(DeviceBatches, WithoutGroupsAndWithHugeNumbers) {
    EXPECT_TRUE(plan_batches({0, 0, false, true}, {plenty, plenty}, 1, {0, 0, 0, 0}).fits);
    const BatchNumbers huge{int64_t{1} << 44, int64_t{1} << 40, int64_t{1} << 36, int64_t{1} << 42};
    const BatchPlan plan =
        plan_batches({int64_t{1} << 26, 0, true, true}, {int64_t{64} << 30, int64_t{8} << 30}, 1, huge);
    EXPECT_TRUE(plan.fits);
    EXPECT_GT(plan.batches, 1000);
    EXPECT_EQ(batch_bytes({1000, 3, false, false}, 1, {0, 0, 100, 100}), 3 * 1001)
        << "kernels without tasks need no partial sums";
}

TEST(DeviceRoom, TasksCoverTheInteractions) {
    using namespace graft::forces;
    for (const int64_t targets : {int64_t{1}, int64_t{1000}, int64_t{200000}, int64_t{100000000}}) {
        const TaskSize size = task_size(targets, targets == 1000);
        const int64_t groups = targets / 45 + 1;
        const TaskCount count = count_tasks(size, groups, targets, 800 * groups, 2000 * groups);
        const int64_t each = std::max<int64_t>(1, targets / groups);
        EXPECT_GE(count.tasks * std::max<int64_t>(size.least, size.pair_interactions / each), 2000 * groups);
        EXPECT_GE(count.slots, 2 * groups * each);
    }
    EXPECT_EQ(count_tasks({}, 0, 0, 0, 0).slots, 0);
}

} // namespace
