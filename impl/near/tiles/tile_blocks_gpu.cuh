// SPDX-License-Identifier: BSD-3-Clause
// Which boxes of the tiled layouts take a whole block of threads each (tile_block_gpu.cuh), beside the
// warps of tile_gpu.cuh: where every number of targets a lane has code, those that model::best_tile_shape
// gives one. Sorted by T within windows of boxes, as warps are.
#pragma once

#include "near/tiles/tile_gpu.cuh"
#include "near/tiles/tile_shapes.hpp"

#include <array>
#include <vector>

namespace graft::near {

/// Targets [first, first + count) of a box, T to a lane.
struct TileBlock {
    int32_t box, first;
    int16_t count; // at most T for each thread
    uint8_t targets, unused;
};

/// By kind of model::tile_blocks.
using TileBlocks = std::array<std::vector<TileBlock>, tile_block_kinds>;

/// Every box with targets is in one of the two.
struct TilePlan {
    TileSchedule warps;
    TileBlocks blocks;
};

/// small_blocks: of small_box_blocks (tile_rule.hpp). O(boxes).
TilePlan make_tile_plan(const Structure& structure, const Runs& runs, const TileCost& cost,
                        int32_t small_blocks);

/// The sums of `view.count` blocks of one kind, for charges of one component in single precision; check as in
/// TilesView.
void sum_blocks(backend::Queue& queue, int32_t kind, int32_t dimension, const SumView<Precision::fp32>& view,
                const TileBlock* blocks, const int2* check);
/// The same, one form and dimension: one file each.
template <Form form, int dimension>
void sum_blocks_of(backend::Queue& queue, int32_t kind, const SumView<Precision::fp32>& view,
                   const TileBlock* blocks, const int2* check);

} // namespace graft::near
