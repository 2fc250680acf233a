// SPDX-License-Identifier: BSD-3-Clause
// Who sends to me: every rank names the few ranks it sends to, and learns of those that send to it.
//
// Invariant: lists are ascending by rank and hold no rank with a count of 0; the own rank may be in both.
#pragma once

#include "comm/communicator.hpp"
#include "core/buffer.hpp"

#include <cstdint>

namespace graft::balance {

/// Ranks with a share, ascending, and the items of each.
struct Shares {
    explicit Shares(core::Memory& memory) : rank(memory, "peers"), count(memory, "peers' counts") {}
    core::Buffer<int32_t> rank;
    core::Buffer<int64_t> count;
    int64_t size() const { return rank.size(); }
    void clear() {
        rank.clear();
        count.clear();
    }
    int64_t total() const;
};

/// Collective. from = who sends to this rank, and how many, given what every rank sends. Throws Error(memory)
/// on all ranks alike.
void exchange_shares(comm::Communicator& comm, const Shares& to, Shares& from);

/// Collective. Sends `to.count[k]` records of `bytes` bytes to each peer, one peer's after another's, and
/// receives likewise; from and receive are of the right size already. Throws Error(memory) on all ranks
/// alike.
void exchange_bytes(comm::Communicator& comm, const Shares& to, const void* send, int64_t bytes,
                    const Shares& from, void* receive);

/// Collective. The same with records of one type; from and receive are filled, by ascending rank.
template <typename T>
void exchange_records(comm::Communicator& comm, const Shares& to, const T* send, Shares& from,
                      core::Buffer<T>& receive) {
    exchange_shares(comm, to, from);
    comm.together([&] { receive.resize(from.total()); });
    exchange_bytes(comm, to, send, sizeof(T), from, receive.data());
}

} // namespace graft::balance
