// SPDX-License-Identifier: BSD-3-Clause
// All pairs over ranks: every rank's sources travel once around the ring while each rank sums what it has at
// hand.
//
// A rank holds two blocks besides its own particles, whatever the number of ranks; the next block is under
// way during the sums. The order of the sums over blocks begins with the own one, so that a field differs
// between numbers of ranks by rounding only.
#pragma once

#include "comm/communicator.hpp"
#include "engine/direct_force.hpp"

#include <functional>
#include <vector>

namespace graft::engine {

class Ring {
  public:
    explicit Ring(core::Memory& memory) : here_(memory, "ring block"), next_(memory, "next ring block") {}

    /// Collective. sum(sources, add) for the own sources first (add = false), then for each other rank's.
    /// `lengths`: particles carry softening lengths (on all ranks that have any). Throws what sum throws, on
    /// all ranks, and Error(memory, communication).
    void run(comm::Communicator& comm, const Sources& own, bool lengths,
             const std::function<void(const Sources&, bool)>& sum);

  private:
    core::Buffer<double> here_, next_;
    std::vector<int64_t> counts_; // per rank
    std::vector<comm::Request> requests_;
};

} // namespace graft::engine
