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

#include <exception>
#include <functional>
#include <vector>

namespace graft::comm {

/// One table per rank, in rank order; each is used by one thread at a time and freed with its own free()
/// (ranks that still wait for a freed one get an error). deadline_s: how long a call may wait, 0 = for ever.
/// Throws Error(argument) for size < 1 or a negative or NaN deadline.
std::vector<graft_comm_v1*> create_thread_ranks(int size, double deadline_s = 0);

/// Runs body(table) for each of the tables at once, each on a thread of its own, and waits for all. An
/// exception that leaves the body fails the rank's table, so peers do not wait for it. Result: what left each
/// rank's body (NULL: nothing). The tables stay the caller's.
std::vector<std::exception_ptr> run_tables(const std::vector<graft_comm_v1*>& tables,
                                           const std::function<void(graft_comm_v1*)>& body);

/// The same on `size` new ranks.
std::vector<std::exception_ptr> run_ranks_collecting(int size, const std::function<void(Communicator&)>& body,
                                                     double deadline_s = 60);

/// Throws the lowest rank's exception that is no Error(communication), else the lowest one, if there is any
/// (an Error(communication) is mostly the echo of another rank's failure).
void throw_first(const std::vector<std::exception_ptr>& errors);

/// Runs body on `size` new ranks, then throw_first().
void run_ranks(int size, const std::function<void(Communicator&)>& body, double deadline_s = 60);

} // namespace graft::comm
