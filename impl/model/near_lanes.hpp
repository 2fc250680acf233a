// How many lanes of a warp share the sources of a target in the layout `ranges` on a GPU: the rule by which
// kernels/near/device_layout_ranges.cu launches, and from which near_gpu.cpp knows how many sources a lane
// meets one after another.
#pragma once

#include <cstdint>

namespace graft::model {

/// 1, 2, 4 ... 32. Where a thread a target leaves the device empty, its time is the longest chain of sources:
/// as many lanes as fill it, of which each has some sources left.
constexpr int32_t near_target_lanes(double targets, double pairs) {
    constexpr double most_threads = 1 << 18, least_sources = 2; // of all targets; of a lane
    int32_t lanes = 1;
    while (lanes < 32 && 2 * lanes * targets <= most_threads && pairs >= 2 * lanes * least_sources * targets)
        lanes *= 2;
    return lanes;
}

} // namespace graft::model
