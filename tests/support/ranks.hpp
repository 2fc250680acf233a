// SPDX-License-Identifier: BSD-3-Clause
// Ranks in one process for tests of the ABI: a thread, a communicator and a context for each.
#pragma once

#include "host.hpp"

#include <functional>
#include <thread>
#include <vector>

namespace graft::test {

/// body(rank, table) on `size` threads; tables are freed afterwards.
inline void on_ranks(int size, const std::function<void(int, graft_comm_v1*)>& body) {
    std::vector<graft_comm_v1*> tables(static_cast<size_t>(size));
    if (capi::comm_create_threads(size, tables.data()) != GRAFT_OK)
        throw std::runtime_error(capi::last_error());
    std::vector<std::thread> threads;
    for (int r = 0; r < size; ++r)
        threads.emplace_back([&, r] { body(r, tables[static_cast<size_t>(r)]); });
    for (std::thread& thread : threads)
        thread.join();
    for (graft_comm_v1* table : tables)
        table->comm_free(table);
}

/// body(rank, context) with a context that works on the ranks.
inline void on_contexts(int size, const capi::Options& options,
                        const std::function<void(int, graft_context*)>& body) {
    on_ranks(size, [&](int rank, graft_comm_v1* table) {
        Context context(options);
        if (capi::context_set_communicator(context, table) != GRAFT_OK)
            throw std::runtime_error(capi::last_error());
        body(rank, context);
    });
}

/// Rank r's share [begin, end) of n items in blocks.
inline size_t share_begin(size_t n, int rank, int size) {
    return n * static_cast<size_t>(rank) / static_cast<size_t>(size);
}

/// The rank's block of particles.
inline Bodies share_of(const Bodies& all, int rank, int size) {
    Bodies mine;
    for (size_t i = share_begin(all.size(), rank, size); i < share_begin(all.size(), rank + 1, size); ++i)
        mine.add(all.x[i], all.y[i], all.z[i], all.q[i]);
    return mine;
}

} // namespace graft::test
