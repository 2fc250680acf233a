// SPDX-License-Identifier: BSD-3-Clause
// The order of points, its integer images, and the cut rule against a plain search.
#include "decompose/orb/cut_goal.hpp"
#include "decompose/ordering.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace graft::decompose;

TEST(Ordering, ImageKeepsTheOrder) {
    using limits = std::numeric_limits<double>;
    const std::vector<double> rising = {-limits::max(),
                                        -1e300,
                                        -1.0,
                                        -limits::min(),
                                        -limits::denorm_min(),
                                        0.0,
                                        limits::denorm_min(),
                                        limits::min(),
                                        0.5,
                                        std::nextafter(0.5, 1.0),
                                        1e300,
                                        limits::max()};
    for (size_t i = 0; i < rising.size(); ++i) {
        EXPECT_EQ(from_ordered_image(ordered_image(rising[i])), rising[i]);
        if (i > 0) {
            EXPECT_LT(ordered_image(rising[i - 1]), ordered_image(rising[i]));
        }
    }
    EXPECT_EQ(ordered_image(-0.0), ordered_image(0.0));
    EXPECT_LT(ordered_id(-1), ordered_id(0));
    EXPECT_EQ(from_ordered_id(ordered_id(-7)), -7);
    EXPECT_LT(implied_id(0, 2147483646), implied_id(1, 0));
}

TEST(Ordering, CutsPartTheirPoints) {
    const AxisPosition a{1.0, 5}, b{1.0, 9}, c{-0.0, lowest_id};
    EXPECT_TRUE(is_left(cut_before(b, true), a.x, a.id));
    EXPECT_FALSE(is_left(cut_before(b, true), b.x, b.id));
    EXPECT_FALSE(is_left(cut_before(a, false), a.x, a.id));
    EXPECT_TRUE(is_left(cut_after(b), b.x, b.id));
    EXPECT_FALSE(is_left(cut_after(b), std::nextafter(1.0, 2.0), lowest_id));
    EXPECT_FALSE(is_left(cut_before(c, false), 0.0, 3));
    EXPECT_TRUE(is_left(cut_before(b, true), 1.0, lowest_id)); // a point without an id
}

namespace {

/// The rule read aloud: all k, those allowed, the nearest to the target, the lower crossing neighbour first.
int64_t best_count(const std::vector<uint64_t>& weights, int64_t parts, int64_t left, int64_t cap) {
    const auto n = static_cast<int64_t>(weights.size());
    double total = 0;
    for (const uint64_t w : weights)
        total += static_cast<double>(w);
    double best = std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t k = 0; k <= n; ++k) {
        const bool filled =
            n >= parts ? k >= left && n - k >= parts - left : k <= left && n - k <= parts - left;
        const bool fits = cap == 0 || (k <= cap * left && n - k <= cap * (parts - left));
        const double have = total > 0 ? sum * static_cast<double>(parts) : static_cast<double>(k * parts);
        const double want = (total > 0 ? total : static_cast<double>(n)) * static_cast<double>(left);
        if (filled && fits)
            best = std::min(best, std::abs(have - want));
        sum += k < n ? static_cast<double>(weights[static_cast<size_t>(k)]) : 0;
    }
    return static_cast<int64_t>(best);
}

} // namespace

TEST(CutGoal, FindsTheNearestAllowedCut) {
    std::mt19937 random(1);
    for (int trial = 0; trial < 20000; ++trial) {
        const auto n = static_cast<int64_t>(random() % 12) + 1;
        const auto parts = static_cast<int32_t>(random() % 9) + 2;
        const int kind = static_cast<int>(random() % 4);
        std::vector<uint64_t> weights;
        Wide total = 0;
        for (int64_t i = 0; i < n; ++i) {
            weights.push_back(kind == 0 ? 1 : kind == 1 ? random() % 4 : kind == 2 ? 0 : random() % 1000);
            total += weights.back();
        }
        const int64_t fair = (n + parts - 1) / parts;
        const int64_t cap = random() % 2 == 0 ? 0 : fair + static_cast<int64_t>(random() % 3);
        const CutGoal goal(n, total, parts, cap);
        ASSERT_LE(goal.least, goal.most);
        int64_t k = 0;
        Wide w = 0;
        while (!goal.past(k + 1, w + weights[static_cast<size_t>(k)])) {
            w += weights[static_cast<size_t>(k++)];
            ASSERT_LT(k, n) << "no crossing point";
        }
        if (goal.takes(k + 1, w, w + weights[static_cast<size_t>(k)]))
            w += weights[static_cast<size_t>(k++)];
        ASSERT_GE(k, goal.least);
        ASSERT_LE(k, goal.most);
        ASSERT_EQ(static_cast<int64_t>(goal.error(k, w)), best_count(weights, parts, goal.parts_left, cap))
            << "n " << n << " parts " << parts << " cap " << cap << " kind " << kind;
    }
}
