// SPDX-License-Identifier: BSD-3-Clause
// How many lanes of a warp share the sources of a target in the layout `ranges` on a GPU: the rule by which
// near/layouts/layout_ranges_gpu.cu launches, and from which near_terms_gpu.cpp knows how many sources a lane
// meets one after another.
#pragma once

#include <algorithm>
#include <cstdint>

namespace graft::near {

/// 2, 4 ... 32. As many as keep an H200 busy, whose time is the longest chain of sources where threads are
/// few; two always, which walk over runs of several lengths together. Of 2, 4 ... 32 lanes the fastest but
/// for 1.6 % on the average and 16 % at most, over 122 structures of 1e3 to 1e6 targets with 0.5 to 64 a box
/// (docs/lab/gpu/near_lanes.md).
constexpr int32_t near_target_lanes(double targets, double pairs) {
    constexpr double most_threads = 1 << 18, many_sources = 128;
    const double threads = most_threads * std::max(1.0, targets > 0 ? pairs / targets / many_sources : 0.0);
    int32_t lanes = 2;
    while (lanes < 32 && 2 * lanes * targets <= threads)
        lanes *= 2;
    return lanes;
}

} // namespace graft::near
