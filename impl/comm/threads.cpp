// SPDX-License-Identifier: BSD-3-Clause
// Making in-process ranks, and running a body on each.
#include "comm/threads.hpp"

#include "comm/thread_table.hpp"

#include <algorithm>
#include <numeric>
#include <thread>

namespace graft::comm {

using core::Error;
using core::Status;

namespace {

struct FreeTable {
    void operator()(graft_comm_v1* table) const { table->comm_free(table); }
};

void run_table(graft_comm_v1* table, const std::function<void(graft_comm_v1*)>& body,
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

bool is_echo(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& e) {
        return e.status() == Status::communication;
    } catch (...) {
        return false;
    }
}

} // namespace

std::vector<graft_comm_v1*> create_thread_ranks(int size, double deadline_s) {
    if (size < 1)
        core::fail(Status::argument, "in-process ranks: expected at least 1, found %d", size);
    if (!(deadline_s >= 0))
        core::fail(Status::argument, "in-process ranks: the deadline is %g s; expected 0 (none) or more",
                   deadline_s);
    std::vector<int> names(static_cast<size_t>(size));
    std::iota(names.begin(), names.end(), 0);
    const auto group = std::make_shared<ThreadGroup>(std::move(names));
    std::vector<std::unique_ptr<graft_comm_v1, FreeTable>> made;
    made.reserve(static_cast<size_t>(size));
    for (int r = 0; r < size; ++r)
        made.emplace_back(make_thread_table(group, r, deadline_s));
    std::vector<graft_comm_v1*> tables(made.size());
    std::transform(made.begin(), made.end(), tables.begin(), [](auto& table) { return table.release(); });
    return tables;
}

std::vector<std::exception_ptr> run_tables(const std::vector<graft_comm_v1*>& tables,
                                           const std::function<void(graft_comm_v1*)>& body) {
    std::vector<std::exception_ptr> errors(tables.size());
    std::vector<std::jthread> threads;
    try {
        for (size_t r = 0; r < tables.size(); ++r)
            threads.emplace_back([&, r] { run_table(tables[r], body, errors[r]); });
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

std::vector<std::exception_ptr> run_ranks_collecting(int size, const std::function<void(Communicator&)>& body,
                                                     double deadline_s) {
    const std::vector<graft_comm_v1*> tables = create_thread_ranks(size, deadline_s);
    const std::vector<std::unique_ptr<graft_comm_v1, FreeTable>> owner(tables.begin(), tables.end());
    return run_tables(tables, [&](graft_comm_v1* table) {
        Communicator comm(table);
        body(comm);
    });
}

void throw_first(const std::vector<std::exception_ptr>& errors) {
    std::exception_ptr first;
    for (const std::exception_ptr& error : errors)
        if (error && (!first || (is_echo(first) && !is_echo(error))))
            first = error;
    if (first)
        std::rethrow_exception(first);
}

void run_ranks(int size, const std::function<void(Communicator&)>& body, double deadline_s) {
    throw_first(run_ranks_collecting(size, body, deadline_s));
}

} // namespace graft::comm
