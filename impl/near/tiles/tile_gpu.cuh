// SPDX-License-Identifier: BSD-3-Clause
// Tiled layouts on the device: which lanes of which warp sum which targets.
//
// A box's targets stand in P lanes of a warp, T to a lane in registers; Y lanes sum different sources for
// each of them, so that the box takes P x Y lanes (BX x BY of liu2022) and a warp holds 32 / (P Y) boxes of
// one shape. Y = 1 is the one-dimensional shape. Boxes of more targets than P T are cut. Sources come from
// memory to each lane's registers (direct), or, where a warp has one box, 32 at a time through shared memory
// (shared). Warps are sorted by T within windows of boxes: loops of several T at one time miss the
// instruction caches.
#pragma once

#include "near/near_sum_gpu.cuh"

#include <vector>

namespace graft::near {

struct TileUnit {
    int32_t box, first; // slot of the first target
};

struct TileWarp {
    int32_t first_unit;
    uint8_t targets;                            // T
    uint8_t log_target_lanes, log_source_lanes; // of P, Y
    uint8_t units_and_kind;                     // units, + 128: through shared memory
};

struct TilesView {
    const TileUnit* units;
    const TileWarp* warps;
    const int2* check; // of a box: sources k in [x, y) may be where a target is
};

/// What decides the shapes, in issue slots.
struct TileCost {
    double pair = 14;                           // a target and a source
    int32_t values = 4;                         // sums of a target
    int32_t most = 8;                           // T at most
    bool every = true;                          // every T up to most has code; else powers of two
    int32_t target_lanes = 0, source_lanes = 0; // fixed by the caller, or 0
    int32_t window = 1 << 16;
};

struct TileSchedule {
    std::vector<TileUnit> units;
    std::vector<TileWarp> warps;
};

/// Most targets a lane, and whether every number up to it has code.
constexpr int most_tile_targets(Form form, Precision precision, int components) {
    return precision == Precision::fp32 && components == 1 && form == Form::laplace
               ? 8
               : (components <= 2 ? 4 : 2);
}
constexpr bool every_tile_target(Form form, Precision precision, int components) {
    return most_tile_targets(form, precision, components) == 8;
}

/// Components of the next pass: 1, 2 or 4 (instances); helmholtz 2 or 4.
inline int32_t tile_components(Form, int32_t left) {
    return left < 4 ? left : 4; // 3 runs as 4 with nothing in the last
}

/// The sums of warps [view.first, view.first + view.count).
template <Precision precision>
void sum_tiles(backend::Queue& queue, Form form, bool gradient, int32_t dimension,
               const SumView<precision>& view, const TilesView& tiles, int threads);
/// The same, one form and dimension: one file each.
template <Form form, Precision precision, int dimension>
void sum_tiles_of(backend::Queue& queue, bool gradient, const SumView<precision>& view,
                  const TilesView& tiles, int threads);

/// For each box the sources that stand in the bounding box of its targets, to check (enqueued).
template <typename T>
void find_meetings(backend::Queue& queue, const StructureView& boxes, const RunsView& runs,
                   const Point<T>* target, const Point<T>* source, int2* check);

} // namespace graft::near
