// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks want the field: each rank's targets covered by a few boxes, known to all.
//
// A box carries the largest MAC factor and softening of the groups in it, so that what the criterion accepts
// for the box it accepts for every group (lists/walk.hpp, open_for_targets). O(ranks * boxes) data on every
// rank.
#pragma once

#include "comm/communicator.hpp"
#include "core/buffer.hpp"
#include "lists/targets.hpp"

#include <vector>

namespace graft::essential {

class Domains {
  public:
    explicit Domains(core::Memory& memory);

    /// Most boxes a rank: 64 for few ranks, fewer for many, so that all together stay in cache.
    static int most_boxes(int ranks);

    /// Local. Cuts the groups, in their order, into at most `most` runs with small boxes. Throws
    /// Error(memory). Cost O(groups * most) at worst, O(groups * log most) as a rule.
    void cover(const core::Buffer<lists::Group>& groups, int most);
    /// Local. Boxes, factors and softening of the runs, from the groups that were covered.
    void update(const core::Buffer<lists::Group>& groups);
    /// Collective: everybody's boxes to everybody. Throws Error(memory, communication) on all ranks.
    void exchange(comm::Communicator& comm);

    int count(int rank) const { return static_cast<int>(bytes_[static_cast<size_t>(rank)] / size); }
    const lists::Target* boxes(int rank) const {
        return all_.data() + offset_[static_cast<size_t>(rank)] / size;
    }

  private:
    static constexpr int64_t size = sizeof(lists::Target);
    struct Run {
        int64_t begin, end;
        double measure; // squared diagonal of its box; < 0: cannot be cut
    };
    int64_t best_cut(const core::Buffer<lists::Group>& groups, const Run& run);

    std::vector<Run> runs_;
    core::Buffer<double> before_; // best_cut: measure of the groups up to here
    core::Buffer<lists::Target> own_, all_;
    std::vector<int64_t> bytes_, offset_; // per rank
};

} // namespace graft::essential
