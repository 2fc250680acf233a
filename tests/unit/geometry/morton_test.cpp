// SPDX-License-Identifier: BSD-3-Clause
// Morton keys against bit-by-bit interleaving and against the cells they stand for.
#include "geometry/morton.hpp"

#include <gtest/gtest.h>

#include <random>

namespace graft::geometry {
namespace {

uint64_t interleave(const uint64_t* cell, int dimension) {
    uint64_t key = 0;
    for (int bit = 0; bit < key_levels(dimension); ++bit)
        for (int axis = 0; axis < dimension; ++axis)
            key |= (cell[axis] >> bit & 1) << (bit * dimension + axis);
    return key;
}

class Morton : public ::testing::TestWithParam<int> {};

TEST_P(Morton, interleaves_the_cell_numbers) {
    const int dimension = GetParam();
    const double lower[3] = {-1, 2, 5};
    const double edge = 8;
    const KeyFrame frame(lower, edge, dimension);
    std::mt19937_64 random(2);
    for (int i = 0; i < 1000; ++i) {
        uint64_t cell[3];
        double point[3];
        for (int axis = 0; axis < 3; ++axis) {
            cell[axis] = random() >> (64 - key_levels(dimension));
            point[axis] = lower[axis] +
                          edge * std::ldexp(static_cast<double>(cell[axis]) + 0.5, -key_levels(dimension));
        }
        ASSERT_EQ(frame.key(point[0], point[1], point[2]), interleave(cell, dimension));
    }
}

TEST_P(Morton, clamps_at_the_faces) {
    const int dimension = GetParam();
    const double lower[3] = {0, 0, 0};
    const KeyFrame frame(lower, 1, dimension);
    const uint64_t last = (uint64_t{1} << (dimension * key_levels(dimension))) - 1;
    EXPECT_EQ(frame.key(1, 1, 1), last);
    EXPECT_EQ(frame.key(9, 9, 9), last);
    EXPECT_EQ(frame.key(-1, -1, -1), 0u);
}

TEST_P(Morton, common_level_counts_shared_cells) {
    const int dimension = GetParam(), levels = key_levels(dimension);
    EXPECT_EQ(common_level(5, 5, dimension), levels);
    EXPECT_EQ(common_level(0, 1, dimension), levels - 1);
    EXPECT_EQ(common_level(0, uint64_t{1} << dimension, dimension), levels - 2);
    EXPECT_EQ(common_level(0, uint64_t{1} << (dimension * levels - 1), dimension), 0);
}

INSTANTIATE_TEST_SUITE_P(Dimensions, Morton, ::testing::Values(2, 3));

} // namespace
} // namespace graft::geometry
