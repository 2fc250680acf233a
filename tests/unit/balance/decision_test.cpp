// SPDX-License-Identifier: BSD-3-Clause
// When to balance and when to take the result: made-up cases with numbers done by hand.
#include "balance/decision.hpp"

#include <gtest/gtest.h>

namespace graft::balance {
namespace {

Settings settings_of(double tolerance, double steps, bool force = false) {
    Settings settings;
    settings.tolerance = tolerance;
    settings.steps = steps;
    settings.force = force;
    return settings;
}

Decision try_it(const Settings& settings, const Prospect& prospect) {
    std::string reason;
    const Decision decision = worth_trying(settings, prospect, reason);
    if (decision != Decision::taken) {
        EXPECT_FALSE(reason.empty());
    }
    return decision;
}

Decision take_it(const Settings& settings, const Outcome& outcome) {
    std::string reason;
    const Decision decision = worth_taking(settings, outcome, reason);
    EXPECT_FALSE(reason.empty());
    return decision;
}

TEST(Decision, ToleranceIsInclusive) {
    EXPECT_EQ(try_it(settings_of(1.1, 50), {1.1, 0.1, 0, 0}), Decision::balanced);
    EXPECT_EQ(try_it(settings_of(1.1, 50), {1.1001, 0.1, 0, 0}), Decision::taken);
    EXPECT_EQ(try_it(settings_of(1.1, 50, true), {1.0, 0.1, 0, 0}), Decision::taken);
}

TEST(Decision, OneObjectIsTheLimit) {
    EXPECT_EQ(try_it(settings_of(1.05, 50), {3.0, 3.0, 0, 0}), Decision::balanced);
    EXPECT_EQ(try_it(settings_of(1.05, 50), {3.1, 3.0, 0, 0}), Decision::taken);
}

TEST(Decision, TryingMustPayForTheLastCost) {
    // 2 s a step at max / mean 2: at best 1 s is saved in each of 10 steps
    EXPECT_EQ(try_it(settings_of(1.05, 10), {2, 0.1, 2, 9.9}), Decision::taken);
    EXPECT_EQ(try_it(settings_of(1.05, 10), {2, 0.1, 2, 10.1}), Decision::not_worth_it);
    EXPECT_EQ(try_it(settings_of(1.05, 10, true), {2, 0.1, 2, 10.1}), Decision::taken);
    // the heaviest object of 1.5 mean loads leaves only 0.5 s a step to save
    EXPECT_EQ(try_it(settings_of(1.05, 10), {2, 1.5, 2, 5.1}), Decision::not_worth_it);
    EXPECT_EQ(try_it(settings_of(1.05, 10), {2, 1.5, 2, 4.9}), Decision::taken);
    // an unknown step time leaves the decision to the tolerance
    EXPECT_EQ(try_it(settings_of(1.05, 10), {2, 0.1, 0, 1e9}), Decision::taken);
    // nothing saved when the host asks again at once
    EXPECT_EQ(try_it(settings_of(1.05, 0), {2, 0.1, 2, 0.1}), Decision::not_worth_it);
}

TEST(Decision, TakingMustPayForTheMigration) {
    // 3 s a step; from 1.5 to 1.2 saves a fifth: 0.6 s in each of 5 steps
    EXPECT_DOUBLE_EQ(gain_s(3, 5, 1.5, 1.2), 3.0);
    EXPECT_EQ(take_it(settings_of(1.05, 5), {1.5, 1.2, 3, 2.9}), Decision::taken);
    EXPECT_EQ(take_it(settings_of(1.05, 5), {1.5, 1.2, 3, 3.1}), Decision::not_worth_it);
    EXPECT_EQ(take_it(settings_of(1.05, 5), {1.5, 1.2, 0, 3.1}), Decision::taken);
    EXPECT_EQ(take_it(settings_of(1.05, 5, true), {1.5, 1.2, 3, 3.1}), Decision::taken);
}

TEST(Decision, WorseOrEqualKeepsTheOldOwners) {
    EXPECT_EQ(take_it(settings_of(1.05, 50), {1.5, 1.6, 0, 0}), Decision::kept_old);
    EXPECT_EQ(take_it(settings_of(1.05, 50), {1.5, 1.5, 1, 0}), Decision::kept_old);
    EXPECT_EQ(take_it(settings_of(1.05, 50, true), {1.5, 1.6, 1, 0}), Decision::taken);
}

} // namespace
} // namespace graft::balance
