// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of the left-filled tree against a tree that is built.
#include "decompose/orb/left_filled.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

using namespace graft::decompose;

namespace {

/// Leaves of the heap 1 ... 2 d - 1 from left to right.
void walk(int64_t cell, int64_t d, std::vector<int64_t>& leaves) {
    if (2 * cell > 2 * d - 1) {
        leaves.push_back(cell);
        return;
    }
    walk(2 * cell, d, leaves);
    walk(2 * cell + 1, d, leaves);
}

} // namespace

TEST(LeftFilled, MatchesABuiltHeap) {
    for (int64_t d = 1; d <= 300; ++d) {
        for (int64_t cell = 1; cell <= 2 * d - 1; ++cell) {
            std::vector<int64_t> under;
            walk(cell, d, under);
            ASSERT_EQ(is_leaf(cell, d), under.size() == 1 && under[0] == cell);
            ASSERT_EQ(first_leaf(cell, d), leaf_of_cell(under[0], d));
            if (!is_leaf(cell, d)) {
                std::vector<int64_t> left;
                walk(2 * cell, d, left);
                ASSERT_EQ(leaves_left(static_cast<int64_t>(under.size())), static_cast<int64_t>(left.size()))
                    << d << " " << cell;
            }
        }
        std::vector<int64_t> all;
        walk(1, d, all);
        for (int64_t leaf = 0; leaf < d; ++leaf) {
            ASSERT_EQ(cell_of_leaf(leaf, d), all[static_cast<size_t>(leaf)]) << d << " " << leaf;
            ASSERT_EQ(leaf_of_cell(all[static_cast<size_t>(leaf)], d), leaf);
        }
        int levels = 0;
        for (const int64_t leaf : all)
            levels = std::max(levels, static_cast<int>(std::bit_width(static_cast<uint64_t>(leaf))) - 1);
        ASSERT_EQ(tree_depth(d), levels);
    }
}

TEST(LeftFilled, LargeTrees) {
    EXPECT_EQ(leaves_left(4096), 2048);
    EXPECT_EQ(leaves_left(int64_t{1} << 30), int64_t{1} << 29);
    EXPECT_EQ(leaves_left((int64_t{1} << 30) + 1), (int64_t{1} << 29) + 1);
    EXPECT_EQ(cell_of_leaf(0, 1), 1);
}
