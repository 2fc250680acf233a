// SPDX-License-Identifier: BSD-3-Clause
// The loop primitives of the CPU backend: blocks of a range over threads.
//
// The same blocks are made whatever the number of threads, so every result is the same bits for any thread
// count. Threads are asked for by clause only: the host's OpenMP settings are never changed. An exception in
// a block ends the loop early and is thrown again on the calling thread.
#pragma once

#include "backend/step_count.hpp"
#include "core/float_environment.hpp"
#include "core/memory.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace graft::backend {

/// Number of threads to use for `threads` asked for (0 = what the host's OpenMP would use).
int resolve_threads(int threads) noexcept;

struct Executor {
    core::Memory& memory;
    int threads = 1;

    /// body(begin, end, thread) for every block [begin, end) of [0, n); blocks are handed out as threads get
    /// free.
    template <typename Body>
    void for_blocks(int64_t n, int64_t block, Body&& body) const;

    /// body(i) for i in [0, n), in blocks of `block`.
    template <typename Body>
    void for_each(int64_t n, Body&& body, int64_t block = 4096) const {
        for_blocks(n, block, [&](int64_t begin, int64_t end, int) {
            for (int64_t i = begin; i < end; ++i)
                body(i);
        });
    }
};

template <typename Body>
void Executor::for_blocks(int64_t n, int64_t block, Body&& body) const {
    const int64_t blocks = n > 0 ? (n + block - 1) / block : 0;
    count_work(n);
#ifdef _OPENMP
    if (threads > 1 && blocks > 1) {
        std::exception_ptr error;
        std::atomic<bool> failed{false};
#pragma omp parallel num_threads(threads)
        {
            const core::DefaultFloatEnvironment held; // the host's own loops may have set traps in these threads
#pragma omp for schedule(dynamic, 1)
            for (int64_t b = 0; b < blocks; ++b) {
                if (failed.load(std::memory_order_relaxed))
                    continue;
                try {
                    body(b * block, std::min(n, (b + 1) * block), omp_get_thread_num());
                } catch (...) {
                    if (!failed.exchange(true))
                        error = std::current_exception();
                }
            }
        }
        if (error)
            std::rethrow_exception(error);
        return;
    }
#endif
    for (int64_t b = 0; b < blocks; ++b) // also for any number of threads where the compiler knows no OpenMP
        body(b * block, std::min(n, (b + 1) * block), 0);
}

} // namespace graft::backend
