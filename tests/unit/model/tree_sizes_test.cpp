// SPDX-License-Identifier: BSD-3-Clause
// The laws that carry an evaluation's counts over to other N_leaf and N_group, against counts that were
// taken.
#include "model/tree_sizes.hpp"

#include "model/liu_feed.hpp"

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
    const auto all = rank_sizes(plummer(), {});
    EXPECT_EQ(all.size(), 12u);
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const TreeChoice& a, const TreeChoice& b) {
        return a.times.total_s() < b.times.total_s();
    }));
    EXPECT_NE(
        std::ranges::find(all, TreeSizes{64, 128}, [](const TreeChoice& one) { return one.counts.sizes; }),
        all.end());
    for (const TreeChoice& one : rank_sizes(plummer(), {.leaf = true}))
        EXPECT_EQ(one.counts.sizes.leaf, 64);
    EXPECT_EQ(rank_sizes(plummer(), {.leaf = true, .group = true}).size(), 1u);
    TreeCounts odd = plummer();
    odd.sizes = {50, 100};
    EXPECT_EQ(rank_sizes(odd, {}).size(), 13u);
}

/// An H200, `graft bench force --n 1000000` in fp32 with the sizes that it chooses: 32, 128.
TreeCounts plummer_on_gpu() {
    TreeCounts c;
    c.sizes = {32, 128}, c.kernels = TreeKernels::gpu, c.least_far_groups = 1024;
    c.targets = 1e6, c.groups = 10972, c.leaves = 103786;
    c.pairs = 1150217810, c.cells = 190185502, c.far_cells = 9992393;
    return c;
}

TEST(TreeSizes, TimesThatAGpuTook) {
    const struct {
        TreeSizes sizes;
        double ms; // of tree, moments, lists and forces
    } taken[] = {{{16, 64}, 2.72},  {{16, 128}, 2.29}, {{16, 256}, 2.50}, {{32, 32}, 3.92},
                 {{32, 64}, 2.62},  {{32, 128}, 2.21}, {{32, 256}, 2.43}, {{64, 64}, 2.74},
                 {{64, 128}, 2.33}, {{64, 256}, 2.55}, {{128, 64}, 3.27}, {{128, 128}, 2.85}};
    for (const auto& one : taken)
        EXPECT_NEAR(1e3 * tree_times(counts_at(plummer_on_gpu(), one.sizes)).total_s() / one.ms, 1, 0.15)
            << one.sizes.leaf << " " << one.sizes.group;
    EXPECT_EQ(rank_sizes(plummer_on_gpu(), {}).front().counts.sizes,
              (TreeSizes{32, 128})); // the least of them
}

TEST(TreeSizes, FewGroupsOfAGpuHaveNoFarCells) {
    TreeCounts few = plummer_on_gpu();
    few.least_far_groups = 1e6 / 128;
    EXPECT_GT(counts_at(few, {32, 64}).far_cells, 0);
    const TreeCounts larger = counts_at(few, {32, 256});
    EXPECT_EQ(larger.far_cells, 0);
    EXPECT_GT(larger.cells, 5e8); // they meet targets instead
}

TEST(TreeSizes, BlocksAreRankedBesideLeavesAndGroups) {
    TreeCounts known = plummer_on_gpu();
    known.kernels = TreeKernels::tiles_2d, known.sizes.block = paper_tiles_2d;
    const auto all = rank_sizes(known, {});
    EXPECT_GT(all.size(), 200u);
    EXPECT_LT(all.front().times.forces_s, 0.7 * tree_times(known).forces_s); // BY below the largest leaf pays
    for (const TreeChoice& one : rank_sizes(known, {.leaf = true, .group = true, .block = {.x = 16}})) {
        EXPECT_EQ(one.counts.sizes.leaf, 32);
        EXPECT_EQ(one.counts.sizes.block.x, 16);
    }
    known.kernels = TreeKernels::pairs_1d, known.sizes.block = paper_pairs_1d;
    EXPECT_LE(rank_sizes(known, {}).front().counts.sizes.block.x, 256);
}

TEST(TreeSizes, FedKernelsTakeTheFeedsTime) {
    for (const auto& [kernels, block] : {std::pair{TreeKernels::tiles_2d, paper_tiles_2d},
                                         std::pair{TreeKernels::pairs_1d, paper_pairs_1d}}) {
        TreeCounts known = plummer();
        known.kernels = kernels, known.sizes.block = block;
        const PaperCounts lists = paper_work(known);
        const double on_device = block.y > 0 ? tiles_2d_s(lists, block, {}) : pairs_1d_s(lists, block.x, {});
        const double start = tree_times(known).forces_s - on_device;
        known.buffer = 1024;
        EXPECT_NEAR(tree_times(known).forces_s - start,
                    paper_feed_times(paper_feed_work(lists, block, {}), 1024, {}, {}).total_s(), 1e-9);
        EXPECT_GT(start, 0);
        EXPECT_LT(start, 1e-3);
    }
}

TEST(TreeSizes, NothingCountedIsNoDivisionByNothing) {
    TreeCounts none;
    none.sizes = {64, 128};
    for (const TreeChoice& one : rank_sizes(none, {}))
        EXPECT_TRUE(std::isfinite(one.times.total_s()));
}

} // namespace
} // namespace graft::model
