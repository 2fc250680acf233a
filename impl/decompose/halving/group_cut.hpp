// SPDX-License-Identifier: BSD-3-Clause
// The cut of one cell whose points lie on the ranks of one group: binning, binning again inside the best bin,
// and collecting the bin's points on the leader once they are few (liu2022, phases 1-4, listing 2.1).
//
// With threshold 0 nothing is collected: once a bin holds few points, bins also add up images and ids, and a
// bin with one point tells its place by the same reduction. A round more or less is one latency of log2 P
// messages, collecting takes three.
//
// All ranks of the group know the cell, so where he has a broadcast, a reduction to the leader and an
// evaluation there, every rank does the same evaluation after one allreduce; only the collected points go
// through the leader. The rule is cut_goal.hpp's, in integers: with slack 0 the cut is the one that every
// other strategy finds. Bins are even in the coordinate; where its doubles run out (or on demand) they are
// even in its ordered image (keys always), and in a heap of equal coordinates even in the id. A round that
// does not narrow the candidates down is followed by asking for their exact range, and the round after that
// does, so the search ends.
//
// A rank that has failed before the call says so in the first reduction, and all ranks return together.
#pragma once

#include "comm/communicator.hpp"
#include "core/buffer.hpp"
#include "decompose/orb/cut_goal.hpp"
#include "decompose/item.hpp"

#include <cstdint>

namespace graft::decompose {

struct GroupQuestion {
    CutGoal goal;   // goal.count >= 1
    Wide slack = 0; // of CutGoal::good_enough
    int axis = 0;
    double lower = 0, upper = 0; // of the cell along the axis, all its points are inside; not for keys
    uint64_t first_key = 0, last_key = 0; // for keys: the same
    bool unit = false;                    // every weight is 1
    int bins = 0;                         // 0: as many as fit into 2 KiB, where reductions are fastest
    int64_t few = 0; // collect on the leader at most this many points (threshold B); 0: none
};

struct GroupAnswer {
    bool failed = false;  // a rank of the group has failed: no cut
    bool crowded = false; // a rank of the group holds too many points: no cut yet
    Border border;
    int64_t count = 0; // on the left
    Wide weight = 0;
    int64_t rounds = 0; // of binning
};

/// For Item and KeyItem.
template <typename AnyItem>
class GroupCut {
  public:
    explicit GroupCut(core::Memory& memory)
        : candidates_(memory, "points near a cut"), sums_(memory, "bins of a cut") {}

    /// Not collective. Room for the bins; before anything else. Throws Error(memory).
    void reserve_bins(int bins);
    /// Not collective. Room for n points of this rank. Throws Error(memory).
    void reserve(int64_t n) { candidates_.resize(n); }
    /// Collective over `group`, after reserve(n) on every rank that has not failed (give n = 0 on one that
    /// has). Cost per round: n of this rank, one allreduce of about 2 KiB.
    GroupAnswer find(comm::Communicator& group, const AnyItem* items, int64_t n,
                     const GroupQuestion& question, bool failed, bool crowded);

  private:
    core::Buffer<int32_t> candidates_;
    core::Buffer<uint64_t> sums_;
};

} // namespace graft::decompose
