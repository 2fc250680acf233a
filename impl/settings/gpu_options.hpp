// SPDX-License-Identifier: BSD-3-Clause
// How the GPU does a force computation: deck keys gpu.*, and those of study.* that are the GPU's.
#pragma once

#include <cstdint>

namespace graft::settings {

inline constexpr int32_t build_two_phase = 2; // tree::DeviceBuild::two_phase; the host builds that way, too
inline constexpr int32_t walk_thread = 0;     // lists::DeviceWalk::thread
inline constexpr int32_t walk_auto = 3;       // the faster of lists::DeviceWalk for so many targets
inline constexpr int32_t feed_auto = -1;      // buffers: chosen (engine/buffer_tuning.hpp)

/// build is a tree::DeviceBuild, walk a lists::DeviceWalk or walk_auto, kernel a forces::DeviceKernel, direct_stage a
/// forces::DirectStage.
struct DeviceOptions {
#define GPU_KEY(type, field, standard, ...) type field = standard;
#include "settings/keys.inc"
};

} // namespace graft::settings
