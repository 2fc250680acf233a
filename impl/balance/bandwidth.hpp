// SPDX-License-Identifier: BSD-3-Clause
// How fast the ranks move bytes to each other when all do: measured once, then learnt from real migrations.
#pragma once

#include "comm/communicator.hpp"
#include "core/memory.hpp"

#include <cstdint>

namespace graft::balance {

class Bandwidth {
  public:
    /// What a migration took on this rank.
    void note(double seconds, int64_t bytes) {
        seconds_ = seconds;
        bytes_ = bytes;
    }
    /// Collective. Bytes a second of the slowest rank, the same on all: of the migrations noted since the
    /// last call, else what is known, else of a probe (every rank sends 256 KiB to the next). 0: unknown
    /// because this rank is alone.
    double agree(comm::Communicator& comm, core::Memory& memory);

  private:
    double seconds_ = 0;
    int64_t bytes_ = 0;
    double known_ = 0;
};

} // namespace graft::balance
