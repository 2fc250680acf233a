// SPDX-License-Identifier: BSD-3-Clause
// Which blocks of targets single precision does not serve, on the CPU.
#pragma once

#include "forces/frame_resolution.hpp"
#include "forces/p2p/close_targets.hpp"
#include "forces/softening.hpp"
#include "lists/targets.hpp"

namespace graft::forces {

/// Whether single precision in the frame of a block loses close pairs, or what a target adds to its own
/// potential. `has_close(targets)`: whether sources of the block are close to some of its targets (some of
/// them at a time); `shift`: of an image of the targets; `length`: the one softening length; `sources`: how many act on
/// a target, about.
template <typename HasClose>
bool is_coarse(const Frame& frame, const lists::TargetSet& set, const lists::Group& block, const geometry::Vec3& shift,
               const PairVariant& variant, double length, int64_t sources, const HasClose& has_close) {
    const bool softened = variant.softening != Softening::none,
               one_plummer = variant.softening == Softening::plummer && !variant.per_particle;
    CloseTargets targets(frame_resolution / frame.scale);
    const auto any_close = [&] { return !targets.empty() && (targets.sort(), has_close(targets)); };
    for (int64_t k = block.first; k < block.first + block.count; ++k) {
        const double own = !softened ? 0 : variant.per_particle ? set.softening()[k] : length;
        if (variant.potential && loses_itself(frame, own, one_plummer, sources))
            return true;
        targets.add(set.x()[k] + shift[0], set.y()[k] + shift[1], set.z()[k] + shift[2]);
        if (!targets.full())
            continue;
        if (any_close())
            return true;
        targets.clear();
    }
    return any_close();
}

} // namespace graft::forces
