// SPDX-License-Identifier: BSD-3-Clause
// Measuring the kernels, see bench_p2p.hpp.
#include "study/bench/bench_p2p.hpp"

#include "core/buffer.hpp"
#include "core/instruction_sets.hpp"
#include "forces/m2p/m2p.hpp"
#include "near/thread_clock.hpp"
#include "forces/p2p/p2p.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "study/bench/bench_p2p.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace graft::study::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// `count` rounds of 12 independent multiply-adds (more than latency times units); returns multiply-adds
/// done, by lane.
template <typename T>
double run_fma(int64_t count, double* sink) {
    const hn::ScalableTag<T> d;
    using Real = hn::Vec<decltype(d)>;
    const Real factor = hn::Set(d, static_cast<T>(0.999)), term = hn::Set(d, static_cast<T>(*sink));
    // Different starts: equal chains would be merged by the compiler.
    const auto start = [&](int k) HWY_ATTR { return hn::Set(d, static_cast<T>(*sink + 0.01 * k)); };
    Real a = start(0), b = start(1), c = start(2), e = start(3), f = start(4), g = start(5);
    Real h = start(6), i = start(7), j = start(8), k = start(9), l = start(10), m = start(11);
    for (int64_t round = 0; round < count; ++round) {
        a = hn::MulAdd(a, factor, term), b = hn::MulAdd(b, factor, term), c = hn::MulAdd(c, factor, term);
        e = hn::MulAdd(e, factor, term), f = hn::MulAdd(f, factor, term), g = hn::MulAdd(g, factor, term);
        h = hn::MulAdd(h, factor, term), i = hn::MulAdd(i, factor, term), j = hn::MulAdd(j, factor, term);
        k = hn::MulAdd(k, factor, term), l = hn::MulAdd(l, factor, term), m = hn::MulAdd(m, factor, term);
    }
    const Real first = hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Add(f, g));
    const Real second = hn::Add(hn::Add(hn::Add(h, i), hn::Add(j, k)), hn::Add(l, m));
    *sink = static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Sub(first, second))));
    return 12.0 * static_cast<double>(count);
}
double run_fma_float(int64_t count, double* sink) {
    return run_fma<float>(count, sink);
}
double run_fma_double(int64_t count, double* sink) {
    return run_fma<double>(count, sink);
}

/// Counted in the disassembly, g++ 12 at -O3, p2p.cpp, Kernel<T, none, false, false>::run.
template <typename T>
double instructions_per_vector() {
    constexpr bool single = sizeof(T) == 4;
#if GRAFT_AVX512
    return single ? 15 : 18;
#elif GRAFT_X86_VECTORS && HWY_TARGET <= HWY_AVX2
    return single ? 17 : 24;
#elif GRAFT_X86_VECTORS
    return single ? 26 : 35;
#else
    return 0 * single;
#endif
}
double instructions_float() {
    return instructions_per_vector<float>() / static_cast<double>(hn::Lanes(hn::ScalableTag<float>()));
}
double instructions_double() {
    return instructions_per_vector<double>() / static_cast<double>(hn::Lanes(hn::ScalableTag<double>()));
}

} // namespace graft::study::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::study {
namespace {

HWY_EXPORT(run_fma_float);
HWY_EXPORT(run_fma_double);
HWY_EXPORT(instructions_float);
HWY_EXPORT(instructions_double);

constexpr int64_t bench_sources = 1024, bench_targets = 64, bench_cells = 128;

/// Numbers in [-0.5, 0.5) from a fixed sequence.
template <typename T>
void fill(core::Buffer<T>& values, int64_t count) {
    values.resize(count);
    uint64_t state = 1;
    for (T& value : values) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        value = static_cast<T>(static_cast<double>(state >> 40) / 16777216.0 - 0.5);
    }
}

template <typename T>
double fma_rate() {
    volatile double seed = 0.001; // unknown to the compiler
    double sink = seed;
    near::Stopwatch watch(true);
    const double done = sizeof(T) == 4 ? HWY_DYNAMIC_DISPATCH(run_fma_float)(3000000, &sink)
                                       : HWY_DYNAMIC_DISPATCH(run_fma_double)(3000000, &sink);
    const double elapsed = watch.lap();
    seed = sink;
    return done / elapsed;
}

template <typename T>
struct Bench {
    core::Memory memory;
    core::Buffer<T> values{memory, "bench"}, places{memory, "bench"};
    core::Buffer<double> out{memory, "bench"};
    Bench() {
        fill(values, 5 * bench_sources + forces::row_count(moments::cartesian_order, true) * bench_cells);
        fill(places, 4 * bench_targets);
        out.resize(4 * bench_targets);
        std::fill(out.begin(), out.end(), 0.0);
    }
    forces::Targets<T> targets() const {
        const T* p = places.data();
        return {p, p + bench_targets, p + 2 * bench_targets, p + 3 * bench_targets, bench_targets};
    }
    forces::FieldSums sums() {
        double* o = out.data();
        return {o, o + bench_targets, o + 2 * bench_targets, o + 3 * bench_targets};
    }
};

} // namespace

template <typename T>
P2pBench bench_p2p(int repetitions) {
    constexpr int calls = sizeof(T) == 4 ? 1200 : 500;
    Bench<T> bench;
    const T* v = bench.values.data();
    const forces::Sources<T> sources{v,
                             v + bench_sources,
                             v + 2 * bench_sources,
                             v + 3 * bench_sources,
                             v + 4 * bench_sources,
                             bench_sources};
    P2pBench result;
    result.instructions_per_pair = sizeof(T) == 4 ? HWY_DYNAMIC_DISPATCH(instructions_float)()
                                                  : HWY_DYNAMIC_DISPATCH(instructions_double)();
    for (int repetition = 0; repetition < repetitions; ++repetition) {
        result.fma_per_s = std::max(result.fma_per_s, fma_rate<T>());
        near::Stopwatch watch(true);
        for (int call = 0; call < calls; ++call)
            forces::p2p(forces::PairVariant{}, 0, sources, bench.targets(), 0, bench.sums());
        result.pairs_per_s =
            std::max(result.pairs_per_s, double{calls} * bench_sources * bench_targets / watch.lap());
    }
    return result;
}

template <typename T>
double bench_m2p(int order, int repetitions) {
    constexpr int calls = 1000;
    Bench<T> bench;
    const forces::CellVariant variant{order, false, false, false};
    T* rows = bench.values.data();
    for (int64_t block = 0; block < bench_cells / forces::source_pad; ++block) // cells stand off the targets
        for (int64_t lane = 0; lane < forces::source_pad; ++lane)
            rows[(block * forces::row_count(order, false) + forces::row_x) * forces::source_pad + lane] += T(3);
    double rate = 0;
    for (int repetition = 0; repetition < repetitions; ++repetition) {
        near::Stopwatch watch(true);
        for (int call = 0; call < calls; ++call)
            forces::m2p(variant, 0, forces::Cells<T>{rows, bench_cells}, bench.targets(), 0, bench.sums());
        rate = std::max(rate, double{calls} * bench_cells * bench_targets / watch.lap());
    }
    return rate;
}

template P2pBench bench_p2p<float>(int);
template P2pBench bench_p2p<double>(int);
template double bench_m2p<float>(int, int);
template double bench_m2p<double>(int, int);

} // namespace graft::study
#endif
