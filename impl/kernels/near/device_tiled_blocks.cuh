// Which boxes of the tiled layouts take a whole block of threads each (device_tiled_block.cuh), beside the
// warps of device_tiled.cuh: where every number of targets a lane has code, those that model::best_tile_shape
// gives one. Sorted by T within windows of boxes, as warps are.
#pragma once

#include "kernels/near/device_tiled.cuh"
#include "model/near_tile.hpp"

#include <array>
#include <vector>

namespace graft::kernels::near {

/// Targets [first, first + count) of a box, T to a lane; of the kind for tensor cores: T tiles of 16.
struct TileBlock {
    int32_t box, first;
    int16_t count; // at most T for each thread
    uint8_t targets, unused;
};

/// By kind of model::tile_blocks.
using TileBlocks = std::array<std::vector<TileBlock>, model::tile_block_kinds>;

/// Every box with targets is in one of the two.
struct TilePlan {
    TileSchedule warps;
    TileBlocks blocks;
};

/// tensor: tensor cores have code for these sums. O(boxes log window).
TilePlan make_tile_plan(const Structure& structure, const Runs& runs, const TileCost& cost, bool tensor);

/// Of each box the middle of its targets' bounding box and 1 over the largest coordinate, counted from there,
/// of any target or source, somewhat less, to frame (enqueued).
void find_frames(backend::Queue& queue, const StructureView& boxes, const RunsView& runs,
                 const Point<float>* target, const Point<float>* source, float4* frame);

/// The sums of `view.count` blocks of one kind, for charges of one component in single precision; check as in
/// TilesView.
void sum_blocks(backend::Queue& queue, int32_t kind, int32_t dimension, const SumView<Precision::fp32>& view,
                const TileBlock* blocks, const int2* check);
/// The same with three dimensions for the kind that takes tensor cores; frame as find_frames leaves it.
void sum_tensor_blocks(backend::Queue& queue, const SumView<Precision::fp32>& view, const TileBlock* blocks,
                       const int2* check, const float4* frame);
/// body.operator()<value, slope>() for what is wanted of the results.
template <typename Body>
void with_outputs(const Results<float>& to, Body&& body) {
    const bool slope =
        to.gradient[0][0] != nullptr || to.gradient[0][1] != nullptr || to.gradient[0][2] != nullptr;
    if (!slope)
        body.template operator()<true, false>();
    else if (to.potential[0] != nullptr)
        body.template operator()<true, true>();
    else
        body.template operator()<false, true>();
}
/// sum_blocks, one form and dimension: one file each.
template <Form form, int dimension>
void sum_blocks_of(backend::Queue& queue, int32_t kind, const SumView<Precision::fp32>& view,
                   const TileBlock* blocks, const int2* check);

} // namespace graft::kernels::near
