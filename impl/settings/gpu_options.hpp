// How the GPU does a force computation: deck keys cuda.*.
#pragma once

#include <cstdint>

namespace graft::settings {

inline constexpr int32_t build_two_phase = 2; // tree::DeviceBuild::two_phase; the host builds that way, too
inline constexpr int32_t walk_auto = 3;       // the faster of lists::DeviceWalk for so many targets
inline constexpr int32_t feed_auto = -1;      // buffers: chosen (engine/buffer_tuning.hpp)

/// How the GPU does it; deck keys cuda.*.
struct DeviceOptions {
    int32_t device = -1;      // -1: the first, or by rank
    int32_t build = 0;        // tree::DeviceBuild
    int32_t top_depth = 5;    // two_phase
    int32_t walk = walk_auto; // lists::DeviceWalk, or walk_auto
    int32_t kernel = 0;       // forces::DeviceKernel
    int32_t direct_stage = 3; // forces::DirectStage
    int32_t block_x = 0, block_y = 0;
    int32_t buffer = 0; // liu2022's kernels fed by the host so many interactions at a time; 0: they are not
    int32_t graph = -1; // CUDA graph: -1 where it pays, 0 never, 1 always
    int32_t reuse = 0;  // steps that lists are kept for, with `skin`
    double skin = 0;
    int64_t memory_limit = 0; // bytes; 0: what is free
    int64_t list_limit = 0;   // bytes of lists before batches are made; 0: chosen
};

} // namespace graft::settings
