// SPDX-License-Identifier: BSD-3-Clause
// What a collective costs on a network where a message of b bytes takes alpha + beta b (Hockney's model).
//
// Each rank has one port each way: a message keeps its sender busy for alpha + beta b and sets its receiver's
// clock to max(own, sender's clock when it starts + alpha + beta b); the two halves of an exchange run side
// by side. Clocks may be unequal at entry. The algorithms, and the sizes at which one follows the other, are
// those of MPICH 4 (src/mpi/coll, Thakur, Rabenseifner and Gropp 2005); combining numbers costs nothing.
//
// Messages between ranks of one node (consecutive ranks, node_size of them) may have an alpha and beta of
// their own. All functions take O(P log P) steps for P ranks.
#pragma once

#include <cstdint>
#include <vector>

namespace graft::study {

struct Network {
    double alpha_s = 1e-5, beta_s_per_byte = 1e-9;
    int32_t node_size = 1; // ranks r with equal r / node_size share a node
    double node_alpha_s = 1e-6, node_beta_s_per_byte = 1e-10;

    /// Seconds for one message between two ranks of the whole machine; nothing to oneself.
    double time_s(int32_t from, int32_t to, int64_t bytes) const {
        if (from == to)
            return 0;
        if (from / node_size == to / node_size)
            return node_alpha_s + node_beta_s_per_byte * static_cast<double>(bytes);
        return alpha_s + beta_s_per_byte * static_cast<double>(bytes);
    }
};

/// The ranks of one communicator while a collective runs: clock[i] of its rank i, which is rank member[i] of
/// the machine; messages and bytes are added to.
struct Ensemble {
    const Network& network;
    const std::vector<int32_t>& member;
    std::vector<double> clock;
    int64_t messages = 0, bytes = 0;

    int32_t size() const { return static_cast<int32_t>(member.size()); }
};

/// Dissemination: ceil(log2 P) rounds of empty messages.
void cost_barrier(Ensemble& ranks);
/// Below 12,288 bytes or 8 ranks: binomial tree, ceil(log2 P) (alpha + beta b) from equal clocks. Above:
/// binomial scatter, then allgather.
void cost_broadcast(Ensemble& ranks, int64_t bytes, int32_t root);
/// Up to 2,048 bytes, or fewer numbers than ranks: recursive doubling, log2 P (alpha + beta b), two more
/// messages where P is no power of two. Above: reduce-scatter by halving, allgather by doubling,
/// 2 log2 P alpha + 2 (1 - 1/P) beta b.
void cost_allreduce(Ensemble& ranks, int64_t bytes, int64_t count);
/// block[i]: bytes of rank i. Recursive doubling (P a power of two, less than 512 KiB in all), Bruck (less
/// than 80 KiB in all), else ring, which is charged (P - 1) steps of the largest block after the latest rank:
/// exact for equal blocks and clocks, an upper bound otherwise.
void cost_allgather(Ensemble& ranks, const std::vector<int64_t>& block);
/// Adds one rank's messages of an alltoallv (non-empty ones only, in the order of distance, as MPICH's
/// scattered algorithm): bytes_to[i] to rank i. `arrival` collects (seconds, bytes) per receiver.
struct Arrival {
    double time_s;
    double transfer_s;
    int32_t to;
};
void cost_scattered_sends(Ensemble& ranks, int32_t from, const int64_t* bytes_to,
                          std::vector<Arrival>& arrivals);
/// Receives what all ranks have sent: one port each, in order of arrival.
void cost_scattered_receives(Ensemble& ranks, std::vector<Arrival>& arrivals);

} // namespace graft::study
