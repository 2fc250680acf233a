// Moving the host's fields to new owners, and back.
//
// A plan is made once from the owner of every local item; any number of fields of any layout then move by it.
// Items arrive sorted by the rank they came from, in that rank's order, so the result does not depend on
// timing. The plan is its own inverse: back() brings fields of the new layout to where they came from.
#pragma once

#include "backend/executor.hpp"
#include "comm/communicator.hpp"
#include "core/buffer.hpp"
#include "particles/array_view.hpp"

#include <cstdint>
#include <vector>

namespace graft::balance {

class Migration {
  public:
    explicit Migration(core::Memory& memory);

    /// Collective. owner[i] in [0, comm.size()) for the n local items. Throws Error(value) naming the first
    /// bad owner, on all ranks.
    void plan(comm::Communicator& comm, const backend::Executor& executor, const int32_t* owner, int64_t n);
    int64_t count_before() const { return before_; }
    int64_t count_after() const { return after_; }

    /// Collective. from[f] has count_before() items, to[f] count_after(); both have the same type and
    /// components, and may not overlap. All fields travel together; nothing is written unless everything
    /// arrived.
    void forward(comm::Communicator& comm, const backend::Executor& executor, int fields,
                 const particles::ArrayView* from, const particles::ArrayView* to);
    /// The way back: from[f] has count_after() items, to[f] count_before().
    void back(comm::Communicator& comm, const backend::Executor& executor, int fields,
              const particles::ArrayView* from, const particles::ArrayView* to);

    /// Of the last plan: items that leave this rank; of the last move: bytes this rank sent to others.
    int64_t items_moved() const { return items_moved_; }
    int64_t bytes_moved() const { return bytes_moved_; }

  private:
    int64_t before_ = 0, after_ = 0, items_moved_ = 0, bytes_moved_ = 0;
    core::Buffer<int32_t> order_;                 // items sorted by owner
    core::Buffer<int32_t> peer_to_, peer_from_;   // ranks with a share, ascending
    core::Buffer<int64_t> count_to_, count_from_; // their items
    core::Buffer<char> send_, receive_;
};

} // namespace graft::balance
