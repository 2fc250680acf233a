// SPDX-License-Identifier: BSD-3-Clause
// The measuring of the loops: rates that can be, for the bytes asked for.
#include "study/bench/bench_sweep.hpp"

#include "core/memory.hpp"

#include <gtest/gtest.h>

#include <vector>

using namespace graft;

TEST(SweepBench, RatesAreOfTheBytesAskedFor) {
    core::Memory memory;
    for (const int threads : {1, 2}) {
        const study::SweepRate rate = study::bench_count_left({memory, threads}, 1 << 16, 1);
        EXPECT_EQ(rate.bytes, 1 << 16);
        for (const double bytes_per_s :
             {rate.read_bytes_per_s, rate.count_bytes_per_s, rate.scalar_bytes_per_s}) {
            EXPECT_GT(bytes_per_s, 1e6);  // a tape drive
            EXPECT_LT(bytes_per_s, 1e13); // no cache
        }
        const std::vector<uint32_t> words(1 << 14, 1);
        for (const study::Sweep sweep : {study::Sweep::read, study::Sweep::count}) {
            const double bytes_per_s = study::bench_sweep(sweep, {memory, threads}, words, 1);
            EXPECT_GT(bytes_per_s, 1e6);
            EXPECT_LT(bytes_per_s, 1e13);
        }
        EXPECT_DOUBLE_EQ(rate.share(), rate.count_bytes_per_s / rate.read_bytes_per_s);
    }
    const study::PartitionRate rate = study::bench_partition(memory, 1 << 12, 1);
    EXPECT_GT(rate.records_per_s, 1e5);
    EXPECT_LT(rate.records_per_s, 1e11);
    EXPECT_EQ(memory.bytes_held(), 0);
}
