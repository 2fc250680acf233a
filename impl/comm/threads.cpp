// SPDX-License-Identifier: BSD-3-Clause
// Making in-process ranks.
#include "comm/threads.hpp"

#include "comm/thread_table.hpp"

#include <algorithm>
#include <numeric>

namespace graft::comm {

using core::Status;

namespace {

struct FreeTable {
    void operator()(graft_comm_v1* table) const { table->comm_free(table); }
};

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

} // namespace graft::comm
