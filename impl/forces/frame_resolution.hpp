// SPDX-License-Identifier: BSD-3-Clause
// Where the frame of a block of targets is too coarse for single precision.
//
// A target and the sources beside it have coordinates of at most 1 in the frame, rounded to 2^-25; the pair's
// distance is wrong by 2^-24 an axis, its force by 2 sqrt(3) 2^-24 / distance of itself. A block that
// straddles far clumps, a close pair in a wide block, a far source that makes the frame small (`reach`) bring
// pairs closer than frame_resolution, whose forces would be wrong by more than 1 / 300, or by all there is:
// such targets are summed in double. The CPU looks for pairs among a block's targets and sources; the GPU, of all
// pairs, among all sources (p2p/close_targets), of a tree in all leaves that come near the group
// (p2p/coarse_targets_gpu.cu).
#pragma once

#include "forces/frame.hpp"

namespace graft::forces {

/// Smallest distance in frame units that single precision is trusted with. Softening hides no distance: within it the
/// force grows with the distance, and a heavy neighbour's may be all there is.
inline constexpr double frame_resolution = 0x1p-14;

/// Whether what a target adds to its own sum of potentials (softening.hpp), and what the caller takes off
/// again, is a thousand times what `sources` equal charges at distance 1 add, so that single precision leaves
/// little of them; or is not what the caller takes off, as what the kernels add to every r^2 is no longer
/// small beside the softening. `one_plummer`: Plummer's, one length for all, which r^2 is at least.
GRAFT_HD inline bool loses_itself(const Frame& frame, double softening, bool one_plummer, int64_t sources) {
    const double few = 0x1p-10 / static_cast<double>(sources), lost = one_plummer ? 0x1p-33 : 0x1p-20;
    return softening > 0 && softening * frame.scale < geometry::larger(few, lost);
}

} // namespace graft::forces
