// SPDX-License-Identifier: BSD-3-Clause
// How fast the loops over records run on this machine, next to what its memory can do: the numbers of
// rehmann2022's rooflines (section 4.3, figures 10-14).
//
// count_left reads each key once and does nothing else, so the bound is a loop that only reads (and combines
// the words by OR, lest the compiler drop it), timed in turns with it over the same array. Arithmetic
// intensity in his count: 4 operations (compare, add, advance, test for the end) on 4 bytes, 1 operation a
// byte; so operations a second equal bytes a second, and the rate in the first-level cache is the roof that
// arithmetic sets.
#pragma once

#include "backend/executor.hpp"

#include <cstdint>
#include <span>

namespace graft::study {

struct SweepRate {
    int64_t bytes = 0;            // of keys, all threads together
    double read_bytes_per_s = 0;  // plain reading
    double count_bytes_per_s = 0; // count_left
    double scalar_bytes_per_s =
        0; // count_left as the compiler makes it for the oldest machine, no SIMD chosen
    double share() const { return read_bytes_per_s > 0 ? count_bytes_per_s / read_bytes_per_s : 0; }
};

struct PartitionRate {
    int64_t records = 0;
    double records_per_s = 0; // partition of 16-byte records by a random half
    double bytes_per_s = 0;   // read and written, without what the cache reads in order to write
};

/// Best of `repetitions` rounds of at least 5 ms each; each thread has an array of its own of bytes /
/// threads. Throws Error(memory).
SweepRate bench_count_left(const backend::Executor& executor, int64_t bytes, int repetitions = 10);
enum class Sweep { read, count };
/// Bytes a second of one loop alone over the caller's words, of which each thread has its share; ends before
/// `repetitions` rounds where they agree (study/bench/best_of.hpp).
double bench_sweep(Sweep sweep, const backend::Executor& executor, std::span<const uint32_t> words,
                   int repetitions);
/// One thread.
PartitionRate bench_partition(core::Memory& memory, int64_t records, int repetitions = 10);

} // namespace graft::study
