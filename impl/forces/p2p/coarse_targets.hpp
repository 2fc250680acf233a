// Which blocks of targets single precision does not serve, on the CPU.
#pragma once

#include "forces/frame_resolution.hpp"
#include "forces/softening.hpp"
#include "lists/targets.hpp"

#include <algorithm>

namespace graft::forces {

/// Whether single precision in the frame of a block loses close pairs, or what a target adds to its own
/// potential. `nearest`: the nearest source of targets at one place, or 0; `length`: the one softening
/// length; `sources`: how many act on a target, about. Cost: 2 frame_neighbours distances a target.
inline bool is_coarse(const Frame& frame, const lists::TargetSet& set, const lists::Group& block,
                      double nearest, const PairVariant& variant, double length, int64_t sources) {
    const bool softened = variant.softening != Softening::none,
               one_plummer = variant.softening == Softening::plummer && !variant.per_particle;
    const OrderedPoints points{set.x(), set.y(), set.z(), set.count()};
    for (int64_t k = block.first; k < block.first + block.count; ++k) {
        double gap = forces::neighbour_gap(points, k);
        gap = nearest > 0 ? std::min(gap, nearest) : gap;
        const double own = !softened ? 0 : variant.per_particle ? set.softening()[k] : length;
        if (forces::too_coarse(frame, gap, own) ||
            (variant.potential && forces::loses_itself(frame, own, one_plummer, sources)))
            return true;
    }
    return false;
}

} // namespace graft::forces
