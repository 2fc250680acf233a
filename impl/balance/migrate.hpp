// SPDX-License-Identifier: BSD-3-Clause
// Moving the host's fields to new owners, and back.
//
// A plan is made once from the owner of every local item; any number of fields of any layout then move by it.
// Items arrive sorted by the rank they came from, in that rank's order, so the result does not depend on
// timing. The plan is its own inverse: back() brings fields of the new layout to where they came from. No
// rank holds O(ranks) data: only the peers that share items are known.
//
// Memory of a move: all that arrives is staged (its bytes once), since nothing may be
// written before everything is here; what leaves passes through two buffers of at most send_bytes / 2 (or one
// item) each, one being packed while the other travels.
#pragma once

#include "backend/executor.hpp"
#include "balance/copy_items.hpp"
#include "balance/peers.hpp"
#include "balance/sort_owners.hpp"
#include "comm/communicator.hpp"
#include "core/buffer.hpp"
#include "particles/array_view.hpp"

#include <cstdint>
#include <vector>

namespace graft::balance {

class Migration {
  public:
    /// send_bytes: the same on all ranks.
    explicit Migration(core::Memory& memory, int64_t send_bytes = int64_t{16} << 20);

    /// Collective. owner[i] in [0, comm.size()) for the n local items. Throws Error(value) naming the first
    /// bad owner, Error(memory), Error(argument) for more than 2^31 items, on all ranks; the old plan is then
    /// gone.
    void plan(comm::Communicator& comm, const backend::Executor& executor, const int32_t* owner, int64_t n);
    int64_t count_before() const { return before_; }
    int64_t count_after() const { return after_; }

    /// Collective. from[f] has count_before() items, to[f] count_after(); both have the same type and
    /// components on every rank, strides are each one's own. All fields travel together; nothing is written
    /// unless everything arrived everywhere. `to` may overlap `from` (a move in place; the own share is then
    /// staged, too), but elements of `to` not each other. Throws, the same on all ranks: Error(call_order)
    /// without a plan, Error(array) for views that do not fit, Error(argument) for fields that differ between
    /// ranks, Error(memory). bytes per item * items within 2^63.
    void forward(comm::Communicator& comm, const backend::Executor& executor, int fields,
                 const particles::ArrayView* from, const particles::ArrayView* to);
    /// The way back: from[f] has count_after() items, to[f] count_before().
    void back(comm::Communicator& comm, const backend::Executor& executor, int fields,
              const particles::ArrayView* from, const particles::ArrayView* to);

    /// Of the last plan: items that leave this rank; of the last move: bytes this rank sent to others.
    int64_t items_moved() const { return items_moved_; }
    int64_t bytes_moved() const { return bytes_moved_; }
    /// Gives the buffers of the last move back; the plan stays.
    void release() noexcept;

  private:
    struct Move;
    void set_own_share(int rank);
    void run(comm::Communicator& comm, const backend::Executor& executor, Move& move);
    void prepare(const backend::Executor& executor, Move& move);
    void post_receives(comm::Communicator& comm, const Move& move);
    void send_all(comm::Communicator& comm, const backend::Executor& executor, const Move& move);
    void write_all(const backend::Executor& executor, const Move& move);

    bool planned_ = false;
    int64_t send_bytes_;
    int64_t before_ = 0, after_ = 0, items_moved_ = 0, bytes_moved_ = 0;
    int64_t own_ = 0, own_order_ = 0, own_after_ = 0; // items that stay; where in order_, where in `after`
    OwnerSorter sorter_;
    core::Buffer<int32_t> order_; // items sorted by owner
    Shares to_, from_;            // own rank included
    core::Buffer<char> send_, receive_;
    std::vector<comm::Request> receives_, sends_[2];
};

} // namespace graft::balance
