// SPDX-License-Identifier: BSD-3-Clause
// A count of elementary steps: one visit of one item in a loop of the executor, or what an algorithm counts
// itself.
//
// It is the same on every run and machine, so that it can stand for time where time must be reproducible (the
// clocks of simulated ranks with a given gamma). Counted on the thread that calls, whatever threads do the
// work. Executor::for_blocks counts its items; serial loops and sorts over many items call count_work
// themselves, a sort of n items with sort_work(n).
#pragma once

#include <cstdint>

namespace graft::backend {

inline constinit thread_local int64_t work_counted = 0;

inline void count_work(int64_t items) noexcept {
    work_counted += items;
}

/// n ceil(log2 n): the comparisons of a sort.
inline int64_t sort_work(int64_t n) noexcept {
    int64_t depth = 0;
    while ((int64_t{1} << depth) < n)
        ++depth;
    return n * depth;
}

} // namespace graft::backend
