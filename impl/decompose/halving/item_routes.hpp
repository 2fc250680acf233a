// SPDX-License-Identifier: BSD-3-Clause
// The way of items through the halvings of their groups, and of the answers back.
//
// At each halving a rank of one half and one or two of the other give each other what belongs to the other
// side (liu2022, phase 5): pairs that everybody can work out, so nobody has to be asked. This object
// remembers one bit per item and level and the counts of each pair; answers travel the same pairs backwards
// and need no address. Data of this room's own: O(items log P) bits and O(log P) counts.
//
// A rank that fails (no memory) tells its partners instead of sending; they count as failed from then on, and
// the group's next reduction ends it. Nothing throws between the messages of a pair.
#pragma once

#include "comm/communicator.hpp"
#include "core/buffer.hpp"
#include "decompose/item.hpp"

#include <cstdint>
#include <exception>
#include <vector>

namespace graft::decompose {

/// Consecutive ranks of a communicator, left_ranks of them to become one group, the rest another.
struct Halves {
    int first = 0, left_ranks = 0, right_ranks = 0;
};

/// The ranks of the other half that `rank` exchanges with: count of them from first on. The larger half's
/// ranks have one partner, the smaller half's the quotient of the two sizes, rounded up or down.
struct Partners {
    int first = 0, count = 0;
};
Partners partners_of(int rank, const Halves& halves);

/// For Item and KeyItem.
template <typename AnyItem>
class ItemRoutes {
  public:
    explicit ItemRoutes(core::Memory& memory)
        : outgoing_(memory, "points to exchange"), sides_(memory, "sides of points"),
          answers_(memory, "owners on their way"), returning_(memory, "owners to exchange") {}

    /// Forgets the last one.
    void start();
    /// Collective over the ranks of `halves` of `comm`. Items that is_left() of the border puts on the other
    /// side leave, those of the partners arrive. error: of this rank so far, or set when it fails now; lost:
    /// set as well when a partner has failed.
    void halve(comm::Communicator& comm, const Halves& halves, int axis, const Border& border,
               core::Buffer<AnyItem>& items, std::exception_ptr& error, bool& lost);

    /// Collective over `group`, whose rank 0 is rank `first` of the communicator that back() will be given,
    /// and which holds `count` items in all. Items beyond a rank's fair share (rounded up) are dealt out
    /// evenly, so that no rank holds more than twice the share, and one, afterwards. Errors as in halve().
    /// Data here: one notice per rank that gets some of this rank's items, so no more than it has items.
    void spread(comm::Communicator& group, int first, int64_t count, core::Buffer<AnyItem>& items,
                std::exception_ptr& error, bool& lost);

    /// Not collective: room for the way back. Throws Error(memory).
    void reserve_back(int64_t items_now);
    /// Collective, after reserve_back() on all ranks. answers: one per item that is here now; the result: one
    /// per item that was here at start(), in that order; owned by this object.
    const int32_t* back(comm::Communicator& comm, const int32_t* answers, int64_t n);

  private:
    struct Peer {
        int rank;
        int64_t sent, received;
    };
    struct Stage {
        int64_t items, first_word; // before it; of their bits in sides_
        int64_t kept;
        size_t first_peer, last_peer;
    };
    void part(int axis, const Border& border, bool left, core::Buffer<AnyItem>& items, Stage& stage);
    void swap(comm::Communicator& comm, const Stage& stage, core::Buffer<AnyItem>& items,
              std::exception_ptr& error, bool& lost);
    void send_items(comm::Communicator& group, int first, const Stage& stage, core::Buffer<AnyItem>& items);
    void undo(comm::Communicator& comm, const Stage& stage);

    core::Buffer<AnyItem> outgoing_;
    core::Buffer<uint64_t> sides_; // a bit per item and stage: it left
    core::Buffer<int32_t> answers_, returning_;
    std::vector<Stage> stages_;
    std::vector<Peer> peers_;
    std::vector<comm::Request> requests_;
};

} // namespace graft::decompose
