// SPDX-License-Identifier: BSD-3-Clause
// Measuring the loops over records, see bench_sweep.hpp.
#include "study/bench/bench_sweep.hpp"

#include "study/bench/best_of.hpp"
#include "core/buffer.hpp"
#include "core/timer.hpp"
#include "decompose/points/sweep.hpp"

#include <algorithm>
#include <atomic>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "study/bench/bench_sweep.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace graft::study::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

uint64_t read_words(const uint32_t* HWY_RESTRICT words, int64_t n) {
    const hn::ScalableTag<uint32_t> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    auto a = hn::Zero(d), b = a, c = a, e = a;
    int64_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
        a = hn::Or(a, hn::LoadU(d, words + i));
        b = hn::Or(b, hn::LoadU(d, words + i + lanes));
        c = hn::Or(c, hn::LoadU(d, words + i + 2 * lanes));
        e = hn::Or(e, hn::LoadU(d, words + i + 3 * lanes));
    }
    uint64_t rest = 0;
    for (; i < n; ++i)
        rest |= words[i];
    return rest | hn::GetLane(hn::MaxOfLanes(d, hn::Or(hn::Or(a, b), hn::Or(c, e))));
}

} // namespace graft::study::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::study {

HWY_EXPORT(read_words);

namespace {

constexpr double round_s = 5e-3;

std::atomic<uint64_t> sink{0}; // keeps the compiler from dropping what is timed

void fill(core::Buffer<uint32_t>& words, int64_t count) {
    words.resize(count);
    uint64_t state = 1;
    for (uint32_t& word : words) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        word = static_cast<uint32_t>(state >> 32);
    }
}

/// Seconds of one call of loop(thread) on all threads at once, so often that a round takes long enough.
template <typename Loop>
double time_of(const backend::Executor& executor, int64_t calls, Loop&& loop) {
    core::Timer timer;
    executor.for_blocks(executor.threads, 1, [&](int64_t thread, int64_t, int) {
        uint64_t result = 0;
        for (int64_t call = 0; call < calls; ++call) {
            result += loop(thread);
            std::atomic_signal_fence(std::memory_order_seq_cst); // or all calls, of the same words, become one
        }
        sink.fetch_add(result, std::memory_order_relaxed);
    });
    return timer.seconds() / static_cast<double>(calls);
}

/// How often the loop goes into one round, timed on one thread.
template <typename Loop>
int64_t calls_of_a_round(core::Memory& memory, Loop&& loop) {
    const backend::Executor single{memory, 1};
    int64_t calls = 1;
    while (time_of(single, calls, loop) * static_cast<double>(calls) < round_s)
        calls *= 2;
    return calls;
}

uint64_t count_plainly(const uint32_t* keys, int64_t n, uint32_t cut) {
    uint32_t count = 0;
    for (int64_t i = 0; i < n; ++i)
        count += keys[i] < cut ? 1 : 0;
    return count;
}

} // namespace

SweepRate bench_count_left(const backend::Executor& executor, int64_t bytes, int repetitions) {
    const int64_t words = std::max<int64_t>(bytes / 4 / executor.threads, 1);
    core::Buffer<uint32_t> keys(executor.memory, "bench keys");
    fill(keys, words * executor.threads);
    const auto part = [&](int64_t thread) { return keys.data() + thread * words; };
    const uint32_t cut = 0x80000000U;
    const auto read = [&](int64_t t) { return HWY_DYNAMIC_DISPATCH(read_words)(part(t), words); };
    const auto count = [&](int64_t t) { return static_cast<uint64_t>(decompose::count_left(part(t), words, cut)); };
    const auto plain = [&](int64_t t) { return count_plainly(part(t), words, cut); };
    const int64_t calls = calls_of_a_round(executor.memory, read);
    double best[3] = {1e9, 1e9, 1e9};
    for (int round = 0; round < repetitions; ++round) {
        best[0] = std::min(best[0], time_of(executor, calls, read));
        best[1] = std::min(best[1], time_of(executor, calls, count));
        best[2] = std::min(best[2], time_of(executor, calls, plain));
    }
    const auto all = static_cast<double>(4 * words * executor.threads);
    return {4 * words * executor.threads, all / best[0], all / best[1], all / best[2]};
}

double bench_sweep(Sweep sweep, const backend::Executor& executor, std::span<const uint32_t> words,
                   int repetitions) {
    const int64_t share = std::max<int64_t>(static_cast<int64_t>(words.size()) / executor.threads, 1);
    const auto loop = [&](int64_t thread) {
        const uint32_t* part = words.data() + thread * share;
        return sweep == Sweep::read ? HWY_DYNAMIC_DISPATCH(read_words)(part, share)
                                    : static_cast<uint64_t>(decompose::count_left(part, share, 0x80000000U));
    };
    const int64_t calls = calls_of_a_round(executor.memory, loop);
    const double seconds = study::best_of(repetitions, [&] { return time_of(executor, calls, loop); });
    return static_cast<double>(4 * share * executor.threads) / seconds;
}

PartitionRate bench_partition(core::Memory& memory, int64_t records, int repetitions) {
    decompose::RecordStore from(memory), to(memory);
    from.resize(records, 3, false);
    to.resize(records, 3, false);
    const decompose::RecordArrays arrays = from.arrays(), out = to.arrays();
    core::Buffer<uint32_t> words(memory, "bench keys");
    fill(words, 3 * records);
    for (int64_t i = 0; i < records; ++i) {
        for (int axis = 0; axis < 3; ++axis)
            arrays.key[axis][i] = words[3 * i + axis] | 1U; // never the key of the cut: no ties
        arrays.index[i] = static_cast<int32_t>(i);
    }
    constexpr uint32_t cut = 0x80000000U;
    const int64_t left = decompose::count_left(arrays.key[0], records, cut);
    const backend::Executor single{memory, 1};
    const auto move = [&](int64_t) {
        decompose::partition(arrays, records, 0, cut, decompose::TieRule{}, out, left, out + left);
        return uint64_t{out.key[0][0]};
    };
    const int64_t calls = calls_of_a_round(memory, move);
    double best = 1e9;
    for (int round = 0; round < repetitions; ++round)
        best = std::min(best, time_of(single, calls, move));
    const auto count = static_cast<double>(records);
    return {records, count / best, 32 * count / best};
}

} // namespace graft::study
#endif
