// SPDX-License-Identifier: BSD-3-Clause
// A body on each of some in-process ranks (comm/threads.hpp), and what left it.
#pragma once

#include "comm/threads.hpp"
#include "core/error.hpp"

#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace graft::comm {

namespace thread_ranks_detail {

inline void run_table(graft_comm_v1* table, const std::function<void(graft_comm_v1*)>& body,
               std::exception_ptr& error) {
    const char* text = core::unknown_exception_text;
    try {
        return body(table);
    } catch (const std::exception& e) {
        error = std::current_exception();
        text = e.what();
    } catch (...) {
        error = std::current_exception();
    }
    if (table->comm_fail != nullptr)
        table->comm_fail(table->self, text);
}

inline bool is_echo(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const core::Error& e) {
        return e.status() == core::Status::communication;
    } catch (...) {
        return false;
    }
}

} // namespace thread_ranks_detail

/// Runs body(table) for each of the tables at once, each on a thread of its own, and waits for all. An
/// exception that leaves the body fails the rank's table, so peers do not wait for it. Result: what left each
/// rank's body (NULL: nothing). The tables stay the caller's.
inline std::vector<std::exception_ptr> run_tables(const std::vector<graft_comm_v1*>& tables,
                                           const std::function<void(graft_comm_v1*)>& body) {
    std::vector<std::exception_ptr> errors(tables.size());
    std::vector<std::jthread> threads;
    try {
        for (size_t r = 0; r < tables.size(); ++r)
            threads.emplace_back([&, r] { thread_ranks_detail::run_table(tables[r], body, errors[r]); });
    } catch (...) {                                             // no more threads to be had
        for (size_t r = threads.size(); r < tables.size(); ++r) // the others are in use
            if (tables[r]->comm_fail != nullptr)
                tables[r]->comm_fail(tables[r]->self, "its thread could not be started");
        throw;
    }
    for (std::jthread& thread : threads)
        thread.join();
    return errors;
}

/// The same on `size` new ranks.
inline std::vector<std::exception_ptr> run_ranks_collecting(int size, const std::function<void(Communicator&)>& body,
                                                     double deadline_s = 60) {
    const std::vector<graft_comm_v1*> tables = create_thread_ranks(size, deadline_s);
    const auto errors = run_tables(tables, [&](graft_comm_v1* table) {
        Communicator comm(table);
        body(comm);
    });
    for (graft_comm_v1* table : tables)
        table->comm_free(table);
    return errors;
}

/// Throws the lowest rank's exception that is no Error(communication), else the lowest one, if there is any
/// (an Error(communication) is mostly the echo of another rank's failure).
inline void throw_first(const std::vector<std::exception_ptr>& errors) {
    std::exception_ptr first;
    for (const std::exception_ptr& error : errors)
        if (error && (!first || (thread_ranks_detail::is_echo(first) && !thread_ranks_detail::is_echo(error))))
            first = error;
    if (first)
        std::rethrow_exception(first);
}

/// Runs body on `size` new ranks, then throw_first().
inline void run_ranks(int size, const std::function<void(Communicator&)>& body, double deadline_s = 60) {
    throw_first(run_ranks_collecting(size, body, deadline_s));
}

} // namespace graft::comm
