// SPDX-License-Identifier: BSD-3-Clause
// What the all-pairs kernels share: sources as they are read, frames of blocks of targets, partial sums.
//
// Targets are divided into blocks of consecutive ones, each with a frame of its own, and sources into equal
// parts; a thread block takes one block of targets and one part. Its sums go to `partial` (frame units), and
// direct_combine adds the parts in order. The division depends on the two counts alone, not on the device.
#pragma once

#include "forces/evaluate_gpu.cuh"
#include "forces/p2p/close_targets_gpu.cuh"
#include "forces/p2p/pair_gpu.cuh"
#include "forces/frame.hpp"

namespace graft::forces {

struct DirectDivision {
    int64_t targets = 0, sources = 0;
    int64_t block = 1;  // targets a block
    int64_t blocks = 0; // of targets
    int64_t part = 1;   // sources a part
    int64_t parts = 1;
};

/// Sums in double of a block's targets.
struct ExactFrame {
    double scale;
    bool all; // of all its targets: single precision has no frame for them
};

struct DirectInput {
    DeviceSources sources, targets;
    DirectDivision division;
    const Frame* frames = nullptr; // one a block of targets
    CloseCells close;              // of the sources, in single precision
    const ExactFrame* exact = nullptr; // one a block
    double length = 0; // one for all, host units
    bool plummer = false;
    double charge_scale = 1; // a power of two near the number of sources: fp32 charges then are near 1
    void* partial = nullptr; // float (fp32) or double: [part][component][target]
    const backend::DeviceStatus* status = nullptr;
};

/// Place of a partial sum.
__host__ __device__ inline int64_t partial_place(const DirectDivision& division, int64_t part, int component,
                                                 int components, int64_t target) {
    return (part * components + component) * division.targets + target;
}

/// Sources as threads read them from shared memory: one 128-bit word (two in double), the same for a warp.
template <typename T>
struct alignas(16) DirectSource {
    T x, y, z, q;
};

/// Calls body<kind>().
template <typename Body>
void with_pair_kind(DevicePair kind, const Body& body) {
    kind == DevicePair::constant  ? body.template operator()<DevicePair::constant>()
    : kind == DevicePair::plummer ? body.template operator()<DevicePair::plummer>()
                                  : body.template operator()<DevicePair::spline>();
}

/// fp32 alone: whether many targets take the shape of 2,048 targets a block.
inline bool is_wide(DevicePair kind, bool potential, int64_t targets) {
    return kind == DevicePair::constant && !potential && targets >= 131072;
}

/// Targets and threads a block of the `best` kernel.
struct DirectBlock {
    int64_t targets, threads;
};
DirectBlock direct_block(const DeviceEvaluation& how, int64_t targets);

/// Launch the `best` kernel for input.division; one file a precision.
void launch_direct_fp32(backend::Queue& queue, DevicePair kind, bool potential, const DirectInput& input);
void launch_direct_mixed(backend::Queue& queue, DevicePair kind, bool potential, const DirectInput& input);
void launch_direct_fp64(backend::Queue& queue, DevicePair kind, bool potential, const DirectInput& input);

/// Frames of the blocks of targets, `exact` as in DirectInput, and what the frames resolve, to input.close: bounds of
/// `bound_blocks` pieces of the sources, then a block a frame. `one`: the same frame for all, about the centre of the
/// sources.
inline constexpr int direct_bound_blocks = 128, direct_bounds = 7; // a box, and the longest softening
struct DirectFrames {
    double* bounds;
    Frame* frames;
    ExactFrame* exact;
};
/// The power of two that a frame's limit is (frame_resolution.hpp).
__device__ inline int close_limit(const Frame& frame) {
    return ilogb(frame_resolution) - ilogb(frame.scale);
}
void launch_direct_frames(backend::Queue& queue, bool in_double, bool one, bool softened, const DirectInput& input,
                          const DirectFrames& to);

} // namespace graft::forces
