// SPDX-License-Identifier: BSD-3-Clause
// A group of consecutive ranks that is halved again and again, together with the points it holds: what
// recursive halving has in common for boxes and for keys.
//
// Invariant: the ranks [first(), first() + ranks()) of the whole communicator hold between them exactly the
// count() points of the group, while nobody has failed. A rank that fails goes on with no points until the
// group's next reduction, after which stopped() is true on all of the group's ranks; other groups go on to
// their end. A rank that the pairs leave with more than twice its share and 64 points has the group spread
// its points first: no rank holds more than about four times the mean of its group, whatever the order in
// which the points came.
#pragma once

#include "comm/rank_range.hpp"
#include "decompose/halving/group_cut.hpp"
#include "decompose/halving/item_routes.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

namespace graft::decompose {

template <typename AnyItem>
class RankGroup {
  public:
    explicit RankGroup(core::Memory& memory)
        : cut_(memory), routes_(memory), items_(memory, "points on their way") {}

    /// Not collective: room for n points here, for a group of `count` points on `ranks` ranks, and for the
    /// bins. items() has n undefined points then. Throws Error(memory).
    void reserve(int64_t n, int64_t count, int ranks, int bins);
    /// The group of all ranks. `whole` must live until back().
    void start(comm::Communicator& whole, int64_t count);

    comm::Communicator& comm() { return *comm_; } // not for one rank alone
    bool leader() const { return comm_->rank() == 0; }
    int first() const { return first_; }
    int ranks() const { return ranks_; }
    int64_t count() const { return count_; }
    core::Buffer<AnyItem>& items() { return items_; }
    /// A failure has ended the work of this group. error(): this rank's own part in it, if any.
    bool stopped() const { return stopped_; }
    bool whole_and_well() const { return !stopped_ && !lost_ && !error_; }
    std::exception_ptr& error() { return error_; }

    /// Collective, ranks() > 1 and count() > 0. One halving into left_ranks ranks and the rest, then this
    /// object is the half that this rank is in; in_right says which. False: no halving yet, or stopped().
    bool halve(const GroupQuestion& question, int left_ranks, GroupAnswer& answer, bool& in_right);
    /// Collective. Local work that all ranks of the group must be able to do, or the group is stopped.
    void allow(const std::function<void()>& body);
    /// The groups' communicators are not needed any more; answers their collectives. What these sent were
    /// messages of the whole, and are counted there.
    comm::Traffic leave();

    /// See ItemRoutes.
    void reserve_back() { routes_.reserve_back(items_.size()); }
    const int32_t* back(const int32_t* answers) { return routes_.back(*whole_, answers, items_.size()); }

  private:
    int64_t most_here() const { return 2 * (count_ / ranks_) + 64; }
    void enter(bool right, int left_ranks, const GroupAnswer& answer);

    GroupCut<AnyItem> cut_;
    ItemRoutes<AnyItem> routes_;
    core::Buffer<AnyItem> items_;
    comm::Communicator* whole_ = nullptr;
    comm::Communicator* comm_ = nullptr;
    std::vector<std::unique_ptr<comm::Range>> groups_; // all so far
    int first_ = 0, ranks_ = 1;
    int64_t count_ = 0;
    std::exception_ptr error_;
    bool lost_ = false;    // this rank or a partner has failed: the group must hear of it
    bool stopped_ = false; // the group knows
    bool spread_ = false;  // the points have been spread in this group
};

} // namespace graft::decompose
