// SPDX-License-Identifier: BSD-3-Clause
// Messages of which nobody knows who will send to whom, with no O(ranks) data on any rank.
//
// Notices (24 bytes) find their way by halving: the range of ranks is cut in two, everyone hands what belongs
// to the other half to its partner there, and goes on with its own half - the crystal router of Fox et al.
// 1988 (Solving Problems on Concurrent Processors, ch. 22), for any number of ranks: in a range of odd size
// the last rank hands over to a partner that has another one, too. Payloads then travel directly.
//
// Cost of routing on P ranks, N notices passing a rank at a stage: ceil(log2 P) (alpha + beta 512) while
// N <= 21, else another alpha + beta 24 per 256 notices more; and one agreement.
#pragma once

#include "comm/communicator.hpp"
#include "core/buffer.hpp"

#include <cstdint>
#include <vector>

namespace graft::comm {

/// A number for another rank.
struct Notice {
    int32_t to = 0;
    int32_t from = 0;  // set by route()
    int64_t index = 0; // set by route(): the notice's place in the sender's list
    int64_t value = 0;
};

/// Collective. Every notice to rank `to`; `notices` becomes what this rank gets, ordered by (from, index).
/// Several to one rank and some to oneself are fine. Throws Error(argument) naming a rank that does not exist
/// and Error(memory), on all ranks.
void route(Communicator& comm, std::vector<Notice>& notices);

struct Outgoing {
    int to;
    const void* data;
    int64_t bytes;
};
struct Incoming {
    int from;
    int64_t bytes;
    const char* data; // in the buffer given to sparse_exchange, aligned to 16 bytes
};

/// Collective. Sends every message (zero bytes, several to one rank, and to oneself are fine); `incoming` is
/// what this rank gets, ordered by sender, then by the sender's order, with its bytes in `storage`. The same
/// for any timing. Throws Error(argument) and Error(memory), on all ranks. Cost: route(), another agreement,
/// and alpha + beta bytes per message.
void sparse_exchange(Communicator& comm, const std::vector<Outgoing>& outgoing, core::Buffer<char>& storage,
                     std::vector<Incoming>& incoming);

} // namespace graft::comm
