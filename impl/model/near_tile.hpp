// Which lanes of a warp sum which targets of a box in the tiled layouts on a GPU: the rule by which
// kernels/near/device_tiled_schedule.cu makes its warps, and from which near_gpu.cpp knows how many sources a
// lane meets one after another.
//
// P lanes stand for targets, T in each one's registers, Y lanes share a box's sources; P x Y <= 32, several
// boxes a warp where it is less. Sources come from memory to each lane's registers, or, where a warp has one
// box, 32 at a time through shared memory. Or a block of threads takes one box: T targets a lane, as many
// streams of sources as then fit (kernels/near/device_tiled_block.cuh). Costs are issue slots, from rates of
// fixed shapes at 16 to 64 targets a box on one H200 (impl/docs/gpu/near.md).
#pragma once

#include <cstdint>
#include <limits>

namespace graft::model {

struct TileRule {
    double pair = 14;                           // slots of a target and a source
    int32_t values = 4;                         // sums of a target
    int32_t most = 8;                           // T at most
    bool every = true;                          // every T up to most has code, and blocks; else powers of two
    int32_t target_lanes = 0, source_lanes = 0; // fixed by the caller, or 0
    bool tensor = false;                        // tensor cores have code for it, too
};

/// Whether the boxes around one are on the average so full that blocks of threads sum it, however few its own
/// targets: m sources in so many boxes. Warps beside blocks would end last (16 points a box: 0.38 ms with the
/// few boxes below 8 targets in warps, 0.21 without).
constexpr bool full_surroundings(double m, double neighbours) {
    return m >= 6 * neighbours && m >= 64;
}

/// Blocks of threads that sum one box each: of a warp for boxes of middling size, of two for large ones, and
/// of two that take up to four tiles of 16 targets to tensor cores (kernels/near/device_tensor.cuh).
struct TileBlockKind {
    int32_t threads, least, most; // T from least to most has code
    int32_t from;                 // targets of a box that takes it; of the first: or full_surroundings
};
inline constexpr TileBlockKind tile_blocks[] = {{32, 3, 4, 16}, {64, 4, 8, 32}, {64, 1, 4, 28}};
inline constexpr int32_t tile_block_kinds = 3, tensor_kind = 2, tensor_targets = 16;

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

/// Targets of a box's pieces but the last, where it is too large for one block.
constexpr int32_t block_piece(const TileShape& shape, int32_t n) {
    const TileBlockKind& kind = tile_blocks[shape.block];
    const int32_t unit = shape.block == tensor_kind ? tensor_targets : 1;
    const int32_t most = shape.block == tensor_kind ? kind.most : kind.threads * shape.targets;
    const int32_t units = (n + unit - 1) / unit, pieces = (units + most - 1) / most;
    return (units + pieces - 1) / pieces * unit;
}

/// Sources of m that one lane of a block meets one after another, each with so many targets of a box of n.
struct LaneWork {
    double sources, targets;
};
constexpr LaneWork block_lane(const TileShape& shape, int32_t n, double m) {
    const TileBlockKind& kind = tile_blocks[shape.block];
    if (shape.block == tensor_kind) // of 8 sources a lane has two, each with two of a tile's targets
        return {m / (kind.threads / 32 * 8), 4.0 * shape.targets};
    return {m / block_streams(kind, n, shape.targets), static_cast<double>(shape.targets)};
}

/// Of a box with n >= 1 targets and m sources, with full_surroundings or not. O(1), 42 shapes.
TileShape best_tile_shape(int32_t n, double m, bool full, const TileRule& rule);

} // namespace graft::model
