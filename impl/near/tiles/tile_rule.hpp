// SPDX-License-Identifier: BSD-3-Clause
// What the tiled layout on a GPU asks of a whole structure before it gives boxes their shapes
// (tile_schedule_gpu.cu), so that parts of it get those of the whole.
#pragma once

#include "near/near_field.hpp"

namespace graft::near {

/// Boxes whose surroundings decide whether they take a block of threads (model::block_kind): 1, all of them;
/// 0, each for itself. Few warps beside many blocks end last: where four fifths take blocks, all do (8 points
/// a box: 20 % faster). sources: of each box with targets; empty: they are counted here. O(boxes), or
/// O(boxes + neighbours).
int32_t small_box_blocks(const Structure& structure, std::span<const int32_t> sources = {});

} // namespace graft::near
