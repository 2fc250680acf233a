// SPDX-License-Identifier: BSD-3-Clause
// Collectives that the table does not have, made of its messages: prefix sums over ranks, and pieces of
// different sizes to and from one rank. All but the root hold no O(ranks) data.
//
// Costs are for P ranks, latency alpha, beta per byte. Pieces travel along a binomial tree rooted at `root`:
// a rank inside the tree holds its subtree's pieces for a while, at most half of all. Every message is
// announced by its size first, so that memory that is refused anywhere is an error everywhere.
#pragma once

#include "comm/communicator.hpp"
#include "core/buffer.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace graft::comm {

/// Collective. below[i] = values[i] of all lower ranks combined by +, in rank order; T{} on rank 0. `values`
/// may be `below`. T: any plain type with +, 128-bit integers too. Source: Hillis and Steele 1986, recursive
/// doubling; ceil(log2 P) (alpha + beta count sizeof(T)). The same bits for the same values and P.
template <typename T>
void exclusive_scan(Communicator& comm, const T* values, int64_t count, T* below) {
    static_assert(std::is_trivially_copyable_v<T>);
    constexpr int tag = first_own_tag;
    const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
    std::vector<T> with_own(values, values + count), received(static_cast<size_t>(count));
    const int rank = comm.rank();
    if (rank == 0)
        std::fill_n(below, count, T{});
    for (int64_t distance = 1; distance < comm.size(); distance *= 2) {
        Request requests[2];
        int64_t started = 0;
        if (rank >= distance)
            requests[started++] = comm.irecv(received.data(), bytes, static_cast<int>(rank - distance), tag);
        if (rank + distance < comm.size())
            requests[started++] = comm.isend(with_own.data(), bytes, static_cast<int>(rank + distance), tag);
        comm.wait_all(started, requests);
        for (int64_t i = 0; rank >= distance && i < count; ++i) {
            const T& lower = received[static_cast<size_t>(i)];
            below[i] = distance == 1 ? lower : static_cast<T>(lower + below[i]);
            with_own[static_cast<size_t>(i)] = static_cast<T>(lower + with_own[static_cast<size_t>(i)]);
        }
    }
}

/// One value.
template <typename T>
T exclusive_scan(Communicator& comm, T value) {
    T below{};
    exclusive_scan(comm, &value, 1, &below);
    return below;
}

/// What every rank contributed: size() of them on the root, none elsewhere.
class Contributions {
  public:
    explicit Contributions(core::Memory& memory)
        : bytes_(memory, "gathered pieces"), offset_(memory, "gathered pieces' places") {}
    int64_t size() const { return offset_.size(); }
    /// Aligned to 8 bytes.
    const char* data(int rank) const { return bytes_.data() + offset_[rank] + header; }
    int64_t bytes(int rank) const { return *reinterpret_cast<const int64_t*>(bytes_.data() + offset_[rank]); }

  private:
    friend void gather_contributions(Communicator&, int, const void*, int64_t, Contributions&);
    static constexpr int64_t header = 8;
    core::Buffer<char> bytes_; // per rank of the subtree: size, bytes, padding to 8
    core::Buffer<int64_t> offset_;
};

/// Collective. `bytes` bytes of every rank (any number, 0 too) to the root. Throws Error(memory) on all
/// ranks. Cost: 2 ceil(log2 P) alpha + beta (all bytes + 8 P), and one agreement.
void gather_contributions(Communicator& comm, int root, const void* data, int64_t bytes,
                          Contributions& pieces);

/// Collective. bytes[r] bytes at data + offset[r] of the root to rank r, into `mine`, which takes their
/// number; the arrays are read on the root only and have size() entries there. Throws Error(argument) for a
/// negative size and Error(memory), on all ranks. Cost: 2 ceil(log2 P) alpha + beta (all bytes + 8 P), and
/// two agreements.
void scatter_pieces(Communicator& comm, int root, const void* data, const int64_t* bytes,
                    const int64_t* offset, core::Buffer<char>& mine);

} // namespace graft::comm
