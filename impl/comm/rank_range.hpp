// SPDX-License-Identifier: BSD-3-Clause
// A communicator over consecutive ranks of another one that nobody has to be asked for.
//
// Making one costs nothing and concerns this rank only: the collectives of the range are made of messages of
// the whole. split() of a large communicator gathers a colour and a key of every rank on every rank
// (MPI_Comm_split does): from 65,536 ranks on that alone costs more than a recursive halving. Algorithms:
// binomial trees (broadcast, allgather by gather and broadcast), recursive doubling (allreduce: every rank
// combines the same tree of operands, so all get the same bits), dissemination (barrier):
// log2 P (alpha + beta bytes) each.
//
// The whole must outlive the range. Messages of a range travel with their own tag; those of collectives with
// range_tag. A failing message poisons the whole and every range of it. Further split()s are refused: take a
// range of the whole.
#pragma once

#include "comm/communicator.hpp"

#include <memory>

namespace graft::comm {

inline constexpr int range_tag = 32001; // of the whole; nobody else may use it

/// Error(argument) of an allreduce: no type that ranks can sum.
[[noreturn]] void refuse_type(int32_t dtype);

class Range {
  public:
    /// Not collective, but all ranks of [first, first + count) must make it. Throws Error(argument) when this
    /// rank is not in the range or the range not in the whole.
    Range(Communicator& whole, int first, int count);
    ~Range();
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

    Communicator& comm() { return *comm_; }

  private:
    struct Table;
    std::unique_ptr<Table> table_;
    std::unique_ptr<Communicator> comm_;
};

} // namespace graft::comm
