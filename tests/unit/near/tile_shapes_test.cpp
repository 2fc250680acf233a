// SPDX-License-Identifier: BSD-3-Clause
// Which lanes sum which targets of a box on a GPU.
#include "near/tiles/tile_shapes.hpp"

#include <gtest/gtest.h>

namespace graft::model {
namespace {

TEST(NearTile, streams_fill_a_block) {
    const near::TileBlockKind& two_warps = near::tile_blocks[1];
    EXPECT_EQ(two_warps.threads, 64);
    EXPECT_EQ(near::block_streams(two_warps, 64, 8), 8);
    EXPECT_EQ(near::block_streams(two_warps, 65, 8), 7); // 9 lanes, 1 thread idle
    EXPECT_EQ(near::block_streams(two_warps, 1, 8), 64);
    EXPECT_EQ(near::block_streams(two_warps, 512, 8), 1);
    EXPECT_EQ(near::block_streams(two_warps, 5000, 8), 1); // in pieces
    for (const near::TileBlockKind& kind : near::tile_blocks)
        for (int32_t n = 1; n <= kind.threads * kind.most; ++n)
            for (int32_t targets = kind.least; targets <= kind.most; ++targets) {
                const int32_t lanes = (n + targets - 1) / targets, streams = near::block_streams(kind, n, targets);
                if (lanes > kind.threads)
                    continue;
                EXPECT_LE(lanes * streams, kind.threads);
                EXPECT_GT(lanes * (streams + 1), kind.threads);
            }
}

TEST(NearTile, boxes_of_many_targets_take_blocks_where_there_is_code) {
    const near::TileRule rule;
    for (int32_t n = 1; n < 2000; n += 1 + n / 20)
        for (int32_t kind = 0; kind < near::tile_block_kinds; ++kind) {
            const near::TileShape shape = near::best_tile_shape(n, 9.0 * n, kind, rule);
            EXPECT_EQ(shape.block, kind) << n;
            EXPECT_GE(shape.targets, near::tile_blocks[kind].least);
            EXPECT_LE(shape.targets, near::tile_blocks[kind].most);
            EXPECT_EQ(near::best_tile_shape(n, 9.0 * n, -1, rule).block, -1) << n;
        }
    near::TileRule fixed;
    fixed.target_lanes = 8, fixed.source_lanes = 4;
    EXPECT_EQ(near::best_tile_shape(64, 1728, 1, fixed).block, -1) << "the caller's lanes are those of a warp";
    near::TileRule others;
    others.every = false, others.most = 4;
    EXPECT_EQ(near::best_tile_shape(64, 1728, 1, others).block, -1) << "no code";
}

/// In even points all boxes of a density take one way, whatever their own points, and at the border.
TEST(NearTile, surroundings_decide_for_small_boxes) {
    for (const double neighbours : {8.0, 12.0, 18.0, 27.0})
        for (int32_t n = 1; n <= 64; ++n) {
            const int32_t kind = n >= near::tile_blocks[1].from ? 1 : 0;
            EXPECT_EQ(near::block_kind(n, 16 * neighbours, neighbours), kind) << n;
            EXPECT_EQ(near::block_kind(n, 8 * neighbours, neighbours), kind) << n;
            EXPECT_EQ(near::block_kind(n, 4 * neighbours, neighbours), n < near::tile_blocks[0].from ? -1 : kind) << n;
        }
    EXPECT_EQ(near::block_kind(100, 100, 27), 1) << "alone among empty boxes";
    EXPECT_EQ(near::block_kind(20, 20, 27), 0);
    EXPECT_EQ(near::block_kind(10, 10, 1), -1) << "too few sources for a block";
}

/// Threads that stand idle or for no target: few over a Poisson mixture of boxes of 64.
TEST(NearTile, blocks_of_64_targets_are_full) {
    double used = 0, all = 0, probability = 1e-28; // of e^-64: its scale does not count
    for (int32_t n = 1; n < 160; ++n) {
        probability *= 64.0 / n;
        const near::TileShape shape = near::best_tile_shape(n, 27.0 * 64, 1, {});
        used += probability * n;
        all += probability * 64 * shape.targets / near::block_streams(near::tile_blocks[1], n, shape.targets);
    }
    EXPECT_GT(used / all, 0.93);
    EXPECT_LE(used / all, 1);
}

/// Pairs of boxes once: counted by hand for 64 targets in 8 lanes and 4 streams, and no T is better by count.
TEST(NearTile, warps_that_sum_pairs_once) {
    EXPECT_EQ(near::once_targets(64), 8);
    EXPECT_EQ(near::once_slots(64, 64, 832, 9, 8), 32 * ((832 / 4 + 8) * (9 * 8 + 8) + 16 * (8 * 8 + 8)));
    EXPECT_EQ(near::once_targets(near::once_unit), near::once_most) << "32 lanes";
    for (int32_t n = 1; n <= near::once_unit; ++n) {
        const int32_t t = near::once_targets(n);
        EXPECT_GE(t, near::once_least);
        EXPECT_LE(t, near::once_most);
        EXPECT_LE(n, 32 * t) << "no lane is left for some";
        const double bound = n * (12.4 * n * 19 + n * 17.); // each pair's instructions and nothing else
        EXPECT_GT(near::once_slots(n, n, 12.4 * n, 19, 17), bound) << n;
        if (n >= 16) { // and few that are idle or wait
            EXPECT_LT(near::once_slots(n, n, 12.4 * n, 19, 17), 1.5 * bound) << n;
        }
    }
}

} // namespace
} // namespace graft::model
