// SPDX-License-Identifier: BSD-3-Clause
// Hilbert keys: consecutive cells share a face, every cell has one key, prefixes name octree cells.
#include "geometry/hilbert.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>

namespace graft::geometry {
namespace {

struct Cell {
    int64_t at[3] = {0, 0, 0};
};

/// Bit by bit, from a Morton key of the finest level.
Cell cell_of_morton(uint64_t key, int dimension) {
    Cell cell;
    for (int bit = 0; bit < key_levels(dimension); ++bit)
        for (int axis = 0; axis < dimension; ++axis)
            cell.at[axis] |= static_cast<int64_t>(key >> (bit * dimension + axis) & 1) << bit;
    return cell;
}

/// The inverse of hilbert_from_morton: its table read backwards.
template <int dimension>
uint64_t inverse(uint64_t key) {
    auto table = hilbert_detail::tables<dimension>.from_morton;
    for (size_t state = 0; state < table.size(); ++state)
        for (size_t corner = 0; corner < table[state].size(); ++corner) {
            const hilbert_detail::Step step = hilbert_detail::tables<dimension>.from_morton[state][corner];
            table[state][step.digit] = {static_cast<uint8_t>(corner), step.state};
        }
    return hilbert_detail::walk<dimension>(table, key);
}

uint64_t morton_from_hilbert(uint64_t key, int dimension) {
    return dimension == 3 ? inverse<3>(key) : inverse<2>(key);
}

Cell cell_of_hilbert(uint64_t key, int dimension) {
    return cell_of_morton(morton_from_hilbert(key, dimension), dimension);
}

int64_t distance(const Cell& a, const Cell& b) {
    return std::llabs(a.at[0] - b.at[0]) + std::llabs(a.at[1] - b.at[1]) + std::llabs(a.at[2] - b.at[2]);
}

class Hilbert : public ::testing::TestWithParam<int> {
  protected:
    int dimension() const { return GetParam(); }
    int bits() const { return dimension() * key_levels(dimension()); }
};

TEST_P(Hilbert, neighbours_on_the_curve_share_a_face_at_every_level) {
    for (int level = 1; level <= 4; ++level) {
        const int below = bits() - level * dimension();
        const uint64_t cells = uint64_t{1} << (level * dimension());
        const int drop = key_levels(dimension()) - level;
        for (uint64_t k = 0; k + 1 < cells; ++k) {
            Cell a = cell_of_hilbert(k << below, dimension());
            Cell b = cell_of_hilbert((k + 1) << below, dimension());
            for (int axis = 0; axis < 3; ++axis)
                a.at[axis] >>= drop, b.at[axis] >>= drop;
            ASSERT_EQ(distance(a, b), 1) << "level " << level << ", key " << k;
        }
    }
}

TEST_P(Hilbert, neighbours_at_the_finest_level_share_a_face_anywhere) {
    std::mt19937_64 random(3);
    for (int i = 0; i < 20000; ++i) {
        uint64_t key = random() >> (64 - bits());
        if (i % 3 == 0)
            key |=
                (uint64_t{1} << (random() % static_cast<uint64_t>(bits()))) - 1; // across high cell borders
        if ((key + 1) >> bits() != 0)
            continue;
        ASSERT_EQ(distance(cell_of_hilbert(key, dimension()), cell_of_hilbert(key + 1, dimension())), 1);
    }
}

TEST_P(Hilbert, is_a_bijection) {
    std::mt19937_64 random(4);
    for (int i = 0; i < 20000; ++i) {
        const uint64_t key = random() >> (64 - bits());
        ASSERT_EQ(hilbert_from_morton(morton_from_hilbert(key, dimension()), dimension()), key);
        ASSERT_EQ(morton_from_hilbert(hilbert_from_morton(key, dimension()), dimension()), key);
    }
    std::set<uint64_t> seen; // the last three levels of one cell
    for (uint64_t k = 0; k < uint64_t{1} << (3 * dimension()); ++k)
        seen.insert(hilbert_from_morton(k, dimension()));
    EXPECT_EQ(seen.size(), uint64_t{1} << (3 * dimension()));
}

TEST_P(Hilbert, a_prefix_names_the_same_cell_as_mortons) {
    std::mt19937_64 random(5);
    for (int i = 0; i < 20000; ++i) {
        const uint64_t a = random() >> (64 - bits());
        const int keep = static_cast<int>(random() % static_cast<uint64_t>(bits()));
        const uint64_t b = a ^ (random() >> (64 - bits()) & ((uint64_t{1} << (bits() - keep)) - 1));
        ASSERT_EQ(common_level(a, b, dimension()),
                  common_level(hilbert_from_morton(a, dimension()), hilbert_from_morton(b, dimension()),
                               dimension()));
    }
}

TEST_P(Hilbert, begins_at_the_lower_corner_and_ends_beside_it) {
    EXPECT_EQ(hilbert_from_morton(0, dimension()), 0u);
    const Cell end = cell_of_hilbert((uint64_t{1} << bits()) - 1, dimension());
    int axes = 0;
    for (int axis = 0; axis < dimension(); ++axis) {
        EXPECT_TRUE(end.at[axis] == 0 || end.at[axis] == (int64_t{1} << key_levels(dimension())) - 1);
        axes += end.at[axis] != 0;
    }
    EXPECT_EQ(axes, 1);
}

INSTANTIATE_TEST_SUITE_P(Dimensions, Hilbert, ::testing::Values(2, 3));

} // namespace
} // namespace graft::geometry
