// SPDX-License-Identifier: BSD-3-Clause
// Which lanes of a warp sum which targets of a box in the tiled layouts on a GPU: the rule by which
// near/tiles/tile_schedule_gpu.cu makes its warps, and from which near_terms_gpu.cpp knows how many sources a
// lane meets one after another.
//
// P lanes stand for targets, T in each one's registers, Y lanes share a box's sources; P x Y <= 32, several
// boxes a warp where it is less. Sources come from memory to each lane's registers, or, where a warp has one
// box, 32 at a time through shared memory. Or a block of threads takes one box: T targets a lane, as many
// streams of sources as then fit (near/tiles/tile_block_gpu.cuh). Costs are issue slots, from rates of
// fixed shapes at 16 to 64 targets a box on one H200 (docs/lab/gpu/near.md).
#pragma once

#include <cstdint>
#include <limits>

namespace graft::near {

struct TileRule {
    double pair = 14;                           // slots of a target and a source
    int32_t values = 4;                         // sums of a target
    int32_t most = 8;                           // T at most
    bool every = true;                          // every T up to most has code, and blocks; else powers of two
    int32_t target_lanes = 0, source_lanes = 0; // fixed by the caller, or 0
};

/// Blocks of threads that sum one box each: of a warp for boxes of middling size, of two for large ones.
struct TileBlockKind {
    int32_t threads, least, most; // T from least to most has code
    int32_t from;                 // targets of a box that takes it, whatever stands around
};
inline constexpr TileBlockKind tile_blocks[] = {{32, 3, 4, 16}, {64, 4, 8, 32}};
inline constexpr int32_t tile_block_kinds = 2;

struct TileShape {
    int32_t targets = 1, log_p = 0, log_y = 0; // T, of P, of Y
    bool shared = false;
    int32_t block = -1; // of tile_blocks: P and Y do not count
    double cost = std::numeric_limits<double>::infinity();
    int32_t unit_targets() const { return targets << log_p; }
};

/// Streams of sources that n targets of a box leave in a block, with T to a lane.
constexpr int32_t block_streams(const TileBlockKind& kind, int32_t n, int32_t targets) {
    const int32_t lanes = (n + targets - 1) / targets;
    return lanes < kind.threads ? kind.threads / lanes : 1;
}

/// Sources from which on a box with few targets takes a block, by the boxes that they stand in.
constexpr double block_sources(double neighbours) {
    constexpr double density = 6.5, least = 64;
    return density * neighbours > least ? density * neighbours : least;
}

/// Kind of block that a box with n targets takes, -1: none. Below tile_blocks[0].from the density of its
/// surroundings decides, m sources in so many boxes, so that nearly all boxes of even points take one way,
/// those at the border and with few points of their own, too: few warps beside many blocks end last (16
/// points a box: 0.38 ms with the few boxes below 8 targets in warps, 0.21 without).
constexpr int32_t block_kind(int32_t n, double m, double neighbours) {
    if (n >= tile_blocks[1].from)
        return 1;
    return n >= tile_blocks[0].from || m >= block_sources(neighbours) ? 0 : -1;
}

/// Of the boxes whose surroundings decide: where this share takes blocks, all do (near/tiles/tile_rule).
inline constexpr double block_share = 0.8;

/// Of a box with n >= 1 targets and m sources; block: its block_kind. O(1), 42 shapes.
TileShape best_tile_shape(int32_t n, double m, int32_t block, const TileRule& rule);

/// Where pairs of boxes are summed once (near/mutual_gpu.cuh) a warp takes so many targets of a
/// box at most, from `least` to `most` of them to a lane.
inline constexpr int32_t once_least = 4, once_most = 8, once_unit = 32 * once_most;

/// T of such a warp by issue slots. Of n alone, not of what stands around, which parts of a structure do not
/// know: the same bits everywhere. 1 <= n <= once_unit.
int32_t once_targets(int32_t n);
/// Lane slots of a warp for n targets of a box that has so many own points, m sources of later neighbours;
/// `pair`, `own`: slots of a pair that serves both, and of one with the own box.
double once_slots(int32_t n, double own_points, double m, double pair, double own);

} // namespace graft::near
