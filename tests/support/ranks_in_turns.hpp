// SPDX-License-Identifier: BSD-3-Clause
// In-process ranks for tests that run under compute-sanitizer: turns.hpp.
#pragma once

#include "faulty_comm.hpp"
#include "turns.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace graft::test {

/// comm::run_ranks(); in turns, a rank works until it calls its communicator, and others while the call
/// lasts.
inline void run_ranks(int size, const std::function<void(comm::Communicator&)>& body,
                      double deadline_s = 60) {
    if (!in_turns())
        return comm::run_ranks(size, body, deadline_s);
    std::mutex turn;
    std::vector<graft_comm_v1*> tables = comm::create_thread_ranks(size, deadline_s);
    for (graft_comm_v1*& table : tables) {
        const auto calls = std::make_shared<Fault>();
        calls->turn = &turn;
        table = make_faulty(table, calls);
    }
    const auto errors = comm::run_tables(tables, [&](graft_comm_v1* table) {
        const std::lock_guard<std::mutex> mine(turn);
        comm::Communicator comm(table);
        body(comm);
    });
    for (graft_comm_v1* table : tables)
        table->comm_free(table);
    comm::throw_first(errors);
}

} // namespace graft::test
