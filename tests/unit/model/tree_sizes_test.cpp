// The laws that carry an evaluation's counts over to other N_leaf and N_group, against counts that were
// taken.
#include "model/tree_sizes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace graft::model {
namespace {

/// `graft bench force --ic plummer --n 100000 --accuracy 1e-3 --order 2 --leaf 64 --group 128`.
TreeCounts plummer() {
    TreeCounts c;
    c.sizes = {64, 128};
    c.targets = 1e5, c.groups = 1e5 / 86.3, c.leaves = 1e5 / 18.5;
    c.pairs = 1733e5, c.cells = 227e5, c.far_cells = 540 * c.groups;
    return c;
}

TEST(TreeSizes, TheSameSizesHaveTheSameCounts) {
    const TreeCounts known = plummer(), same = counts_at(known, known.sizes);
    EXPECT_NEAR(same.pairs, known.pairs, 1e-6 * known.pairs);
    EXPECT_NEAR(same.cells, known.cells, 1e-6 * known.cells);
    EXPECT_NEAR(same.far_cells, known.far_cells, 1e-6 * known.far_cells);
    EXPECT_NEAR(tree_times(same).total_s(), tree_times(known).total_s(), 1e-9);
}

TEST(TreeSizes, CountsThatWereTaken) {
    const struct {
        TreeSizes sizes;
        double pairs, cells, far_cells; // of a target, of a target, of a group
    } taken[] = {{{16, 64}, 740, 202, 613},
                 {{16, 128}, 1023, 331, 567},
                 {{32, 128}, 1170, 304, 558},
                 {{64, 256}, 2366, 336, 488},
                 {{128, 128}, 3016, 162, 486}};
    for (const auto& one : taken) {
        const TreeCounts at = counts_at(plummer(), one.sizes);
        EXPECT_NEAR(at.pairs / at.targets / one.pairs, 1, 0.35) << one.sizes.leaf << " " << one.sizes.group;
        EXPECT_NEAR(at.cells / at.targets / one.cells, 1, 0.35) << one.sizes.leaf << " " << one.sizes.group;
        EXPECT_NEAR(at.far_cells / at.groups / one.far_cells, 1, 0.35)
            << one.sizes.leaf << " " << one.sizes.group;
    }
}

TEST(TreeSizes, TheRankingKeepsWhatIsGivenAndHasTheStart) {
    const auto all = rank_sizes(plummer(), false, false);
    EXPECT_EQ(all.size(), 12u);
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const TreeChoice& a, const TreeChoice& b) {
        return a.times.total_s() < b.times.total_s();
    }));
    EXPECT_NE(
        std::ranges::find(all, TreeSizes{64, 128}, [](const TreeChoice& one) { return one.counts.sizes; }),
        all.end());
    for (const TreeChoice& one : rank_sizes(plummer(), true, false))
        EXPECT_EQ(one.counts.sizes.leaf, 64);
    EXPECT_EQ(rank_sizes(plummer(), true, true).size(), 1u);
    TreeCounts odd = plummer();
    odd.sizes = {50, 100};
    EXPECT_EQ(rank_sizes(odd, false, false).size(), 13u);
}

TEST(TreeSizes, NothingCountedIsNoDivisionByNothing) {
    TreeCounts none;
    none.sizes = {64, 128};
    for (const TreeChoice& one : rank_sizes(none, false, false))
        EXPECT_TRUE(std::isfinite(one.times.total_s()));
}

} // namespace
} // namespace graft::model
