// SPDX-License-Identifier: BSD-3-Clause
// P2P's speed on every instruction set that this machine has, as ratios of rates of one thread's own time: to
// the bound of bench_p2p.hpp, and, with AVX-512, to the roots that it does not take. A lid on what silently falls
// back to general code.
#include "core/instruction_sets.hpp"
#include "study/bench/bench_p2p.hpp"
#include "near/thread_clock.hpp"
#include "forces/simd.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "../tests/unit/study/bench_bound_test.cpp" // from impl/, which is searched
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bench_bound::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// `count` rounds of 8 independent exact reciprocal roots; returns how many.
template <typename T>
double run_roots(int64_t count, double* sink) {
    const hn::ScalableTag<T> d;
    using Real = hn::Vec<decltype(d)>;
    const Real one = hn::Set(d, T(1));
    const auto start = [&](int k) HWY_ATTR { return hn::Set(d, static_cast<T>(*sink + 0.01 * k)); };
    const auto next = [&](Real x) HWY_ATTR { return hn::Div(one, hn::Sqrt(hn::Add(x, one))); };
    Real a = start(0), b = start(1), c = start(2), e = start(3), f = start(4), g = start(5), h = start(6),
         i = start(7);
    for (int64_t round = 0; round < count; ++round) {
        a = next(a), b = next(b), c = next(c), e = next(e);
        f = next(f), g = next(g), h = next(h), i = next(i);
    }
    const Real sum = hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Add(hn::Add(f, g), hn::Add(h, i)));
    *sink = static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
    return 8.0 * static_cast<double>(count * static_cast<int64_t>(hn::Lanes(d)));
}
double run_roots_float(int64_t count, double* sink) {
    return run_roots<float>(count, sink);
}
double run_roots_double(int64_t count, double* sink) {
    return run_roots<double>(count, sink);
}
bool is_avx512() {
    return GRAFT_AVX512;
}
bool is_x86() {
    return GRAFT_X86_VECTORS;
}

} // namespace bench_bound::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bench_bound {
namespace {

using namespace graft;

HWY_EXPORT(run_roots_float);
HWY_EXPORT(run_roots_double);
HWY_EXPORT(is_avx512);
HWY_EXPORT(is_x86);

constexpr int tries = 30;
constexpr double least_share = 0.5, least_lead = 1.05;

/// Rates only grow from try to try: a disturbed one changes nothing.
struct Rates {
    study::P2pBench p2p;
    double roots_per_s = 0;

    template <typename T>
    void measure() {
        const study::P2pBench again = study::bench_p2p<T>(2);
        p2p.instructions_per_pair = again.instructions_per_pair;
        p2p.pairs_per_s = std::max(p2p.pairs_per_s, again.pairs_per_s);
        p2p.fma_per_s = std::max(p2p.fma_per_s, again.fma_per_s);
        volatile double seed = 0.001; // unknown to the compiler
        double sink = seed;
        near::Stopwatch watch(true);
        const double done = sizeof(T) == 4 ? HWY_DYNAMIC_DISPATCH(run_roots_float)(100000, &sink)
                                           : HWY_DYNAMIC_DISPATCH(run_roots_double)(100000, &sink);
        roots_per_s = std::max(roots_per_s, done / watch.lap());
        seed = sink;
    }
    double lead_over_roots() const { return p2p.pairs_per_s / roots_per_s; }
};

template <typename T>
void expect_speed(const std::string& name) {
    const bool avx512 = HWY_DYNAMIC_DISPATCH(is_avx512)();
    Rates rates;
    const auto fast = [&] {
        return rates.p2p.share_of_bound() > least_share && (!avx512 || rates.lead_over_roots() > least_lead);
    };
    for (int done = 0; done < 3 || (done < tries && !fast()); ++done)
        rates.measure<T>();
    EXPECT_TRUE(fast()) << name << (sizeof(T) == 4 ? ", float: " : ", double: ") << rates.p2p.pairs_per_s
                        << " pairs/s, " << rates.p2p.fma_per_s << " FMA/s, share of the bound "
                        << rates.p2p.share_of_bound() << " (0: instructions not counted), expected more than "
                        << least_share << "; " << rates.roots_per_s << " exact roots/s, pairs a root "
                        << rates.lead_over_roots() << ", expected with AVX-512 more than " << least_lead;
}

class P2pBound : public testing::TestWithParam<std::string> {
    void SetUp() override { ASSERT_TRUE(forces::set_simd_limit(GetParam())); }
    void TearDown() override { forces::set_simd_limit(""); }
};

} // namespace

TEST_P(P2pBound, IsReached) {
    if (!HWY_DYNAMIC_DISPATCH(is_x86)())
        GTEST_SKIP() << GetParam() << " takes the general path, whose instructions nobody has counted";
    expect_speed<float>(GetParam());
    expect_speed<double>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(AllTargets, P2pBound, testing::ValuesIn(forces::simd_names()),
                         [](const auto& each) { return each.param; });

} // namespace bench_bound
#endif
