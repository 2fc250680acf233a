// SPDX-License-Identifier: BSD-3-Clause
// Fuzzy ORB: super-objects at cuts are swapped for small ones, so that both sides meet their weight better.
//
// After the ORB the rank of each part gets the part's candidates from the ranks where the objects live: its
// heaviest super-objects and the small ones nearest to its six faces, a bounded number. Then pairs of parts,
// mirror images across the cut of one level, exchange candidates and work out the same swap (swap_pair.hpp),
// level by level from the leaves up, twice. A pair never ends with a heavier heaviest side, so the maximum
// over all ranks never grows. The result does not depend on where the objects live when they have ids.
// Source: liu2022 section 2.4.
#pragma once

#include "balance/loads.hpp"
#include "balance/swap_pair.hpp"

namespace graft::balance {

struct FuzzyReport {
    int64_t super_objects = 0, small_objects = 0; // moved, over all ranks
    double locality_lost = 0; // mean distance to the new part's tight box over its longest edge
};

/// Collective. Changes `owner` (part of each local object, parts = ranks) where objects are swapped. `future`
/// is this rank's load under `owner`. Of the settings: super, the cap, and the tolerance (a part within half
/// of it is left alone). Throws Error(memory) on all ranks alike. O(items) local work, 2 log2(ranks) pairs of
/// messages of a few KiB.
FuzzyReport swap_across_cuts(comm::Communicator& comm, const backend::Executor& executor,
                             const decompose::Points& points, const Scale& scale, const Load& future,
                             const Settings& settings, core::Buffer<int32_t>& owner);

} // namespace graft::balance
