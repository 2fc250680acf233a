// The measurements are numbers that can be true; how large they must be is tests/perf's business.
#include "kernels/bench.hpp"

#include <gtest/gtest.h>

using namespace graft;

TEST(KernelBench, RatesArePlausible) {
    const kernels::P2pBench single = kernels::bench_p2p<float>(2), full = kernels::bench_p2p<double>(2);
    for (const kernels::P2pBench& bench : {single, full}) {
        EXPECT_GT(bench.pairs_per_s, 1e6);
        EXPECT_GT(bench.fma_per_s, 1e8);
        EXPECT_LT(bench.fma_per_s,
                  5e10); // four a cycle at 12 GHz: beyond it the compiler has merged the chains
        if (bench.instructions_per_pair > 0) {
            EXPECT_GT(bench.share_of_bound(), 0.1);
            EXPECT_LT(bench.share_of_bound(), 2);
        }
    }
    EXPECT_GT(kernels::bench_m2p<float>(0, 1), kernels::bench_m2p<float>(4, 1));
}
