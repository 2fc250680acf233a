// Which lanes sum which targets of a box on a GPU.
#include "model/near_tile.hpp"

#include <gtest/gtest.h>

namespace graft::model {
namespace {

TEST(NearTile, streams_fill_a_block) {
    const TileBlockKind& two_warps = tile_blocks[1];
    EXPECT_EQ(two_warps.threads, 64);
    EXPECT_EQ(block_streams(two_warps, 64, 8), 8);
    EXPECT_EQ(block_streams(two_warps, 65, 8), 7); // 9 lanes, 1 thread idle
    EXPECT_EQ(block_streams(two_warps, 1, 8), 64);
    EXPECT_EQ(block_streams(two_warps, 512, 8), 1);
    EXPECT_EQ(block_streams(two_warps, 5000, 8), 1); // in pieces
    for (const TileBlockKind& kind : tile_blocks)
        for (int32_t n = 1; n <= kind.threads * kind.most; ++n)
            for (int32_t targets = kind.least; targets <= kind.most; ++targets) {
                const int32_t lanes = (n + targets - 1) / targets, streams = block_streams(kind, n, targets);
                if (lanes > kind.threads)
                    continue;
                EXPECT_LE(lanes * streams, kind.threads);
                EXPECT_GT(lanes * (streams + 1), kind.threads);
            }
}

TEST(NearTile, boxes_of_many_targets_take_blocks_where_there_is_code) {
    const TileRule rule;
    for (int32_t n = 1; n < 2000; n += 1 + n / 20) {
        const TileShape shape = best_tile_shape(n, 9.0 * n, true, rule);
        const int32_t kind = n < tile_blocks[1].from ? 0 : 1;
        EXPECT_EQ(shape.block, kind) << n;
        EXPECT_GE(shape.targets, tile_blocks[kind].least);
        EXPECT_LE(shape.targets, tile_blocks[kind].most);
        EXPECT_EQ(best_tile_shape(n, 9.0 * n, false, rule).block, n < tile_blocks[0].from ? -1 : kind) << n;
    }
    TileRule fixed;
    fixed.target_lanes = 8, fixed.source_lanes = 4;
    EXPECT_EQ(best_tile_shape(64, 1728, true, fixed).block, -1) << "the caller's lanes are those of a warp";
    TileRule others;
    others.every = false, others.most = 4;
    EXPECT_EQ(best_tile_shape(64, 1728, true, others).block, -1) << "no code";
}

/// In even points all boxes of a density take the same way, whatever their own points and at the border.
TEST(NearTile, surroundings_decide_for_small_boxes) {
    for (const double neighbours : {8.0, 12.0, 18.0, 27.0}) {
        EXPECT_TRUE(full_surroundings(8 * neighbours, neighbours));
        EXPECT_FALSE(full_surroundings(4 * neighbours, neighbours));
    }
}

/// Threads that stand idle or for no target: few over a Poisson mixture of boxes of 64.
TEST(NearTile, blocks_of_64_targets_are_full) {
    double used = 0, all = 0, probability = 1e-28; // of e^-64: its scale does not count
    for (int32_t n = 1; n < 160; ++n) {
        probability *= 64.0 / n;
        if (n < tile_blocks[1].from)
            continue;
        const TileShape shape = best_tile_shape(n, 27.0 * 64, true, {});
        used += probability * n;
        all += probability * 64 * shape.targets / block_streams(tile_blocks[1], n, shape.targets);
    }
    EXPECT_GT(used / all, 0.93);
    EXPECT_LE(used / all, 1);
}

TEST(NearTile, large_boxes_take_tensor_cores_where_there_is_code) {
    TileRule rule;
    EXPECT_NE(best_tile_shape(64, 1728, true, rule).block, tensor_kind);
    rule.tensor = true;
    const TileBlockKind& kind = tile_blocks[tensor_kind];
    for (int32_t n = 1; n < 3000; ++n) {
        const TileShape shape = best_tile_shape(n, 27.0 * n, true, rule);
        EXPECT_EQ(shape.block == tensor_kind, n >= kind.from) << n;
        if (shape.block != tensor_kind)
            continue;
        const int32_t piece = block_piece(shape, n), pieces = (n + piece - 1) / piece;
        EXPECT_EQ(piece, shape.targets * tensor_targets);
        EXPECT_LE(shape.targets, kind.most);
        EXPECT_EQ(pieces, (n + kind.most * tensor_targets - 1) / (kind.most * tensor_targets)) << n;
    }
    EXPECT_NE(best_tile_shape(64, 200, true, rule).block, tensor_kind) << "few sources, whose bound is tight";
    rule.source_lanes = 4;
    EXPECT_EQ(best_tile_shape(64, 1728, true, rule).block, -1);
}

/// All lanes together meet every pair of the rounded tile.
TEST(NearTile, lanes_of_a_block_share_its_pairs) {
    TileShape shape;
    shape.block = tensor_kind, shape.targets = 4;
    const LaneWork tensor = block_lane(shape, 64, 1728);
    EXPECT_DOUBLE_EQ(tensor.sources * tensor.targets * tile_blocks[tensor_kind].threads, 64.0 * 1728);
    shape.block = 1, shape.targets = 8;
    const LaneWork plain = block_lane(shape, 64, 1728);
    EXPECT_DOUBLE_EQ(plain.sources * plain.targets * tile_blocks[1].threads, 64.0 * 1728);
}

} // namespace
} // namespace graft::model
