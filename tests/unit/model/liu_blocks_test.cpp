// SPDX-License-Identifier: BSD-3-Clause
// Counts of liu2022's kernels against a walk through their blocks and warps, thread by thread; choices
// against times that were measured.
#include "model/liu_blocks.hpp"

#include "model/machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace graft::model {
namespace {

/// Groups with lists of their own, as a tree makes them.
struct Lists {
    struct Group {
        int targets;
        std::vector<int> leaf_sources; // an entry each
        int nodes;
    };
    std::vector<Group> groups;
    int leaf, group;

    Lists(int most_in_leaf, int most_in_group) : leaf(most_in_leaf), group(most_in_group) {
        std::mt19937 random(5);
        const auto in = [&](int from, int to) {
            return std::uniform_int_distribution<int>(from, to)(random);
        };
        for (int g = 0; g < 400; ++g) {
            Group one{in(group / 4, group), {}, in(200, 700)};
            for (int e = in(20, 90); e > 0; --e)
                one.leaf_sources.push_back(in(leaf / 4, leaf));
            groups.push_back(one);
        }
    }
    PaperCounts work() const {
        PaperCounts w;
        w.most_in_leaf = leaf, w.most_in_group = group;
        double sources = 0;
        for (const Group& g : groups) {
            w.targets += g.targets, w.groups += 1;
            w.leaf_entries += static_cast<double>(g.leaf_sources.size()), w.node_entries += g.nodes;
            for (const int s : g.leaf_sources)
                sources += s;
        }
        w.sources = sources / w.leaf_entries;
        return w;
    }
};

struct Walked {
    double warps = 0, node_meets = 0, leaf_steps = 0, sums = 0, atomics = 0;
};

/// One block of the 2-D kernel; sources: of its leaves, or 0 for each of its nodes.
void walk_block(const Lists::Group& group, BlockShape block, const std::vector<int>& sources, bool leaves,
                Walked& walked) {
    const int threads = block.x * block.y;
    walked.warps += (threads + 31) / 32;
    walked.atomics += group.targets;
    for (int base = 0; base < group.targets; base += block.y)
        for (int warp = 0; warp < threads; warp += 32) {
            bool busy = false, summing = false;
            int longest = 0;
            for (int t = warp; t < std::min(warp + 32, threads); ++t) {
                const int x = t % block.x, y = t / block.x;
                const bool there = base + y < group.targets;
                busy = busy || there, summing = summing || (there && x == 0);
                if (there && x < static_cast<int>(sources.size()))
                    longest = std::max(longest, sources[static_cast<size_t>(x)]);
            }
            walked.node_meets += busy && !leaves ? 1 : 0;
            walked.leaf_steps += longest;
            walked.sums += summing ? block.x : 0;
        }
}

Walked walk_2d(const Lists& lists, BlockShape block) {
    Walked walked;
    for (const Lists::Group& group : lists.groups) {
        for (size_t from = 0; from < group.leaf_sources.size(); from += static_cast<size_t>(block.x)) {
            const size_t end = std::min(group.leaf_sources.size(), from + static_cast<size_t>(block.x));
            walk_block(group, block, {group.leaf_sources.begin() + from, group.leaf_sources.begin() + end},
                       true, walked);
        }
        for (int from = 0; from < group.nodes; from += block.x)
            walk_block(group, block, std::vector<int>(std::min(block.x, group.nodes - from)), false, walked);
    }
    return walked;
}

TEST(PaperBlocks, CountsAreThoseOfAWalkThroughTheBlocks) {
    for (const auto& [leaf, group] : {std::pair{32, 32}, {16, 64}, {64, 64}})
        for (const BlockShape block : blocks_2d({})) {
            const Lists lists(leaf, group);
            const PaperTerms terms = tiles_2d_terms(lists.work(), block);
            const Walked walked = walk_2d(lists, block);
            const auto where = testing::Message() << leaf << " " << group << " " << block.x << " " << block.y;
            EXPECT_NEAR(terms[0] / walked.warps, 1, 0.05) << where;
            EXPECT_NEAR(terms[2] / walked.node_meets, 1, 0.18) << where;
            EXPECT_NEAR(terms[3] / walked.leaf_steps, 1, 0.2) << where;
            EXPECT_NEAR(terms[4] / walked.sums, 1, 0.18) << where;
            EXPECT_NEAR(terms[5] / walked.atomics, 1, 0.05) << where;
        }
}

TEST(PaperBlocks, LargerBlocksWaitForMoreAndAddLess) {
    const PaperCounts work = Lists(32, 32).work();
    const PaperTerms narrow = tiles_2d_terms(work, {4, 32}), wide = tiles_2d_terms(work, {32, 32});
    EXPECT_GT(narrow[5], 6 * wide[5]); // atomic writes: a factor of BX less
    EXPECT_GT(wide[3], narrow[3] / 4);
    const PaperTerms one = pairs_1d_terms(work, 256);
    EXPECT_NEAR(one[5] / wide[5], 32, 4); // section 4.2: fewer by a factor of BX
}

TEST(PaperBlocks, NothingIsNoDivisionByNothing) {
    for (const BlockShape block : blocks_2d({}))
        EXPECT_EQ(tiles_2d_s({}, block, {}), 0);
    EXPECT_EQ(pairs_1d_s({}, 256, {}), 0);
}

TEST(PaperBlocks, ShapesFitABlockAndKeepWhatIsGiven) {
    for (const BlockShape block : blocks_2d({})) {
        EXPECT_LE(block.x * block.y, most_block_threads);
        EXPECT_GE(block.x * block.y, 32);
    }
    for (const BlockShape block : blocks_2d({.x = 12}))
        EXPECT_EQ(block.x, 12);
    for (const BlockShape block : blocks_2d({.y = 256}))
        EXPECT_EQ(block.y, 256);
    EXPECT_EQ(blocks_2d({.x = 16, .y = 32}), (std::vector<BlockShape>{{16, 32}}));
    EXPECT_EQ(blocks_2d({.x = 1024}),
              (std::vector<BlockShape>{{1024, 0}})); // refused by the kernel, in its words
    EXPECT_EQ(blocks_1d({.x = 4096}), (std::vector<BlockShape>{{1024, 0}}));
    EXPECT_EQ(blocks_1d({}).size(), 5u);
}

TEST(PaperBlocks, TheMachinesNumbersCountWhereItHasThem) {
    Machine machine;
    EXPECT_EQ(paper_gpu(machine).multiprocessors, PaperGpu().multiprocessors);
    machine.gpu.multiprocessors = 66, machine.gpu.launch_s = 1e-5;
    const PaperGpu half = paper_gpu(machine);
    EXPECT_EQ(half.clock_hz, PaperGpu().clock_hz);
    const PaperCounts work = Lists(32, 32).work();
    EXPECT_NEAR(tiles_2d_s(work, {16, 32}, half) / tiles_2d_s(work, {16, 32}, {}), 2, 1e-9);
    EXPECT_EQ(half.launch_s, 1e-5);
}

TEST(PaperBlocks, TimesThatAGpuTook) { // an H200, Plummer 3e5 at accuracy 1e-3, leaf = group = 32
    PaperCounts work;
    work.targets = 3e5, work.groups = 13105, work.sources = 3e5 / 32683;
    work.leaf_entries = 13105 * 190859636.0 / 3e5 / work.sources,
    work.node_entries = 13105 * 261572643.0 / 3e5;
    const struct {
        BlockShape block;
        double ms;
    } taken[] = {{{4, 16}, 8.38},   {{4, 32}, 12.50},  {{4, 64}, 21.34},  {{4, 128}, 39.25}, {{8, 8}, 5.25},
                 {{8, 16}, 7.28},   {{8, 32}, 11.62},  {{8, 64}, 21.13},  {{8, 128}, 56.38}, {{16, 8}, 5.51},
                 {{16, 16}, 7.73},  {{16, 32}, 12.59}, {{16, 64}, 31.29}, {{32, 8}, 6.94},   {{32, 16}, 9.50},
                 {{32, 32}, 19.49}, {{64, 8}, 8.04},   {{64, 16}, 15.16}};
    double least = 1e9, picked = 0;
    for (const auto& one : taken) {
        const double ms = 1e3 * tiles_2d_s(work, one.block, {});
        EXPECT_NEAR(ms / one.ms, 1, 0.25) << one.block.x << " " << one.block.y;
        if (ms < least)
            least = ms, picked = one.ms;
    }
    EXPECT_EQ(picked, 5.25); // the least of them
    const double one_d[][2] = {{64, 16.3}, {128, 16.3}, {256, 16.3}, {512, 18.1}, {1024, 18.6}};
    for (const auto& one : one_d)
        EXPECT_NEAR(1e3 * pairs_1d_s(work, static_cast<int>(one[0]), {}) / one[1], 1, 0.15) << one[0];
}

} // namespace
} // namespace graft::model
