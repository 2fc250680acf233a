// SPDX-License-Identifier: BSD-3-Clause
// The shortest of a few rounds, and when it is found.
#include "study/bench/best_of.hpp"

#include <gtest/gtest.h>

#include <vector>

using namespace graft;

namespace {

struct Outcome {
    double best;
    size_t rounds;
};

/// Of these times, the last one for ever.
Outcome outcome(const std::vector<double>& times, int most) {
    size_t rounds = 0;
    const double best = study::best_of(
        most, [&] { return rounds < times.size() ? times[rounds++] : (++rounds, times.back()); });
    return {best, rounds};
}

} // namespace

TEST(BestOf, EndsWhenTheTwoShortestAgree) {
    const Outcome agreed = outcome({3, 2, 2.5, 2.01, 1}, 10); // the fourth is near the second
    EXPECT_EQ(agreed.best, 2);
    EXPECT_EQ(agreed.rounds, 4u);
    EXPECT_EQ(outcome({2, 2, 2}, 10).rounds, 3u); // two are too few
    const Outcome shorter = outcome({2, 2.5, 1.99, 9}, 10);
    EXPECT_EQ(shorter.best, 1.99);
    EXPECT_EQ(shorter.rounds, 3u);
}

TEST(BestOf, TakesNoMoreRoundsThanAsked) {
    const Outcome apart = outcome({5, 4, 3, 2, 1}, 4);
    EXPECT_EQ(apart.best, 2);
    EXPECT_EQ(apart.rounds, 4u);
    EXPECT_EQ(outcome({7, 1}, 1).best, 7);
    EXPECT_EQ(outcome({7, 1}, 1).rounds, 1u);
}
