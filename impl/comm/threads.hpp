// SPDX-License-Identifier: BSD-3-Clause
// Ranks as threads of one process: the in-process implementation of graft_comm_v1, for hosts without MPI and
// for tests. Any number of ranks; all waits end at the deadline, and at once when a peer fails.
//
// What peers must agree on is checked: ranks that meet in different collectives, with different sizes,
// roots or operations, all get an error that says so. A failed table stays failed, and so do the tables split
// from it. Messages name a rank by its number among all, in parts too. Reductions combine in rank order, so
// their bits do not depend on timing.
#pragma once

#include "comm/communicator.hpp"

#include <vector>

namespace graft::comm {

/// One table per rank, in rank order; each is used by one thread at a time and freed with its own free()
/// (ranks that still wait for a freed one get an error). deadline_s: how long a call may wait, 0 = for ever.
/// Throws Error(argument) for size < 1 or a negative or NaN deadline.
std::vector<graft_comm_v1*> create_thread_ranks(int size, double deadline_s = 0);

} // namespace graft::comm
