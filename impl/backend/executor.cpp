// SPDX-License-Identifier: BSD-3-Clause
// How many threads a computation gets.
#include "backend/executor.hpp"

#include <pthread.h>

namespace graft::backend {

#ifdef _OPENMP
namespace {

/// A child after fork has none of the threads that the OpenMP runtime has counted, and would wait for them.
std::atomic<bool> is_child{false};

void notice_forks() noexcept {
    static const int noticed = pthread_atfork(nullptr, nullptr, [] { is_child = true; });
    (void)noticed;
}

} // namespace
#endif

/// 1 in a child of a process that has computed with threads.
int resolve_threads(int threads) noexcept {
#ifdef _OPENMP
    const int wanted = threads > 0 ? threads : std::max(1, omp_get_max_threads());
    if (wanted > 1)
        notice_forks();
    return is_child ? 1 : wanted;
#else
    (void)threads;
    return 1;
#endif
}

} // namespace graft::backend
