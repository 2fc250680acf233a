// SPDX-License-Identifier: BSD-3-Clause
// The measurements are numbers that can be true; how large they must be is tests/perf's business. The bound
// and the rate are measured one after the other: where other processes take turns on the cores, one try may
// show anything.
#include "study/bench/bench_p2p.hpp"

#include <gtest/gtest.h>

using namespace graft;

namespace {

constexpr int tries = 8;

template <typename Real>
void expect_plausible() {
    for (int left = tries; left > 0; --left) {
        const study::P2pBench bench = study::bench_p2p<Real>(2);
        const double share = bench.instructions_per_pair > 0 ? bench.share_of_bound() : 1;
        // Four a cycle at 12 GHz: beyond it the compiler has merged the chains.
        if (bench.pairs_per_s > 1e6 && bench.fma_per_s > 1e8 && bench.fma_per_s < 5e10 && share > 0.1 &&
            share < 2)
            return;
        EXPECT_GT(left, 1) << bench.pairs_per_s << " pairs/s, " << bench.fma_per_s << " FMA/s, share "
                           << share;
    }
}

} // namespace

TEST(KernelBench, RatesArePlausible) {
    expect_plausible<float>();
    expect_plausible<double>();
}

TEST(KernelBench, HigherOrdersCostMore) {
    for (int left = tries; left > 0; --left) {
        const double monopole = study::bench_m2p<float>(0, 1),
                     hexadecapole = study::bench_m2p<float>(4, 1);
        if (monopole > hexadecapole)
            return;
        EXPECT_GT(left, 1) << monopole << ", " << hexadecapole;
    }
}
