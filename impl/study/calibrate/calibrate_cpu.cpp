// SPDX-License-Identifier: BSD-3-Clause
// The CPU's rates, see calibrate.hpp.
#include "study/calibrate/calibrate.hpp"

#include "model/this_machine.hpp"

#include "backend/executor.hpp"
#include "study/bench/best_of.hpp"
#include "core/buffer.hpp"
#include "core/error.hpp"
#include "core/timer.hpp"
#include "study/bench/bench_sweep.hpp"
#include "study/bench/bench_p2p.hpp"
#include "near/thread_clock.hpp"
#include "forces/simd.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>

namespace graft::study {

namespace {

constexpr int64_t memory_bytes = int64_t{256} << 20; // of one thread: beyond any cache
constexpr int64_t most_memory_bytes = int64_t{1} << 30;
constexpr int64_t largest_cache_bytes = int64_t{16} << 20; // a core's useful share of a shared one
constexpr double round_s = 5e-3;

using Words = core::Buffer<uint32_t>;

/// An array of `bytes` whose pages are there.
Words touched(const backend::Executor& executor, int64_t bytes) {
    Words words(executor.memory, "bench array");
    words.resize(bytes / 4);
    constexpr int64_t block = int64_t{1} << 20;
    executor.for_blocks(words.size(), block, [&](int64_t begin, int64_t end, int) {
        std::fill_n(&words[begin], end - begin, 1U);
    });
    return words;
}

std::span<const uint32_t> first(const Words& words, int64_t bytes) {
    return {words.data(), static_cast<size_t>(bytes / 4)};
}

/// Bytes a second, read plus written, of every thread copying one half of its part of the array's first
/// `bytes` to the other.
double copy_bandwidth(const backend::Executor& executor, Words& words, int64_t bytes, int repetitions) {
    const int64_t half = bytes / executor.threads / 2;
    auto* array = reinterpret_cast<char*>(words.data());
    const auto seconds_of = [&](int64_t calls) {
        const core::Timer timer;
        executor.for_blocks(executor.threads, 1, [&](int64_t thread, int64_t, int) {
            char* part = array + 2 * half * thread;
            for (int64_t call = 0; call < calls; ++call)
                std::memcpy(part + half * (call & 1), part + half * (~call & 1), static_cast<size_t>(half));
        });
        return timer.seconds();
    };
    int64_t calls = 2;
    while (seconds_of(calls) < round_s)
        calls *= 2;
    const double seconds = study::best_of(repetitions, [&] { return seconds_of(calls); });
    return 2 * static_cast<double>(half * executor.threads * calls) / seconds;
}

/// Bytes of a level as the system tells them, 0 where it does not. A virtual machine may be told of the last
/// level of a whole socket, of which it has a part: the smaller of what both sources say.
double cache_bytes(int level) {
    constexpr int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
    auto bytes = static_cast<double>(std::max(sysconf(names[level - 1]), 0L));
    for (int index = 0; index < 8; ++index) {
        const auto read = [&](const char* what, const char* format, auto* value) {
            const std::string path =
                core::format("/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, what);
            const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "r"),
                                                                       std::fclose);
            return file && std::fscanf(file.get(), format, value) == 1;
        };
        int found = 0;
        double kilobytes = 0;
        char type = 0;
        if (read("level", "%d", &found) && found == level && read("type", "%c", &type) && type != 'I' &&
            read("size", "%lfK", &kilobytes) && kilobytes > 0)
            bytes = bytes > 0 ? std::min(bytes, 1024 * kilobytes) : 1024 * kilobytes;
    }
    return bytes;
}

/// One core at the levels that the system tells of: an array of half a level.
void measure_caches(model::Cpu& cpu, core::Memory& memory, int repetitions) {
    const backend::Executor single{memory, 1};
    size_t found = 0;
    for (const int level : {1, 2, 3}) {
        const double bytes = cache_bytes(level);
        if (bytes <= 0)
            continue;
        const int64_t array = std::min(static_cast<int64_t>(bytes), largest_cache_bytes) / 2;
        Words words = touched(single, array);
        model::Cache& cache = cpu.caches[found++];
        cache.bytes = bytes;
        cache.read_bandwidth_bytes_per_s =
            study::bench_sweep(Sweep::read, single, first(words, array), repetitions);
        cache.copy_bandwidth_bytes_per_s = copy_bandwidth(single, words, array, repetitions);
    }
}

/// Seconds of a number of `array` that `place` names.
double random_s(const core::Buffer<int32_t>& place, int repetitions, const double* array) {
    double sum[8] = {};
    double best_s = study::best_of(1 + repetitions, [&] { // the first one warms up
        near::Stopwatch watch(true);
        for (int64_t i = 0; i < place.size(); i += 8)
            for (int64_t part = 0; part < 8; ++part)
                sum[part] += array[place[i + part]];
        return watch.lap();
    });
    for (const double part : sum)
        best_s += 0 * part; // they are used
    return best_s / static_cast<double>(place.size());
}

/// Random: in an order that no prefetcher follows, each independent of the last, as collections do.
void measure_arrays(model::Cpu& cpu, core::Memory& memory, int repetitions) {
    constexpr int64_t reads = 1 << 20;
    const backend::Executor single{memory, 1};
    core::Buffer<double> array(memory, "bench array");
    core::Buffer<int32_t> place(memory, "bench places");
    place.resize(reads);
    for (size_t k = 0; k < cpu.arrays.size(); ++k) {
        const int log_size = 17 + static_cast<int>(k); // 1 MiB ... 128 MiB
        const int64_t size = int64_t{1} << log_size;
        array.resize(size);
        std::memset(array.data(), 0, sizeof(double) << log_size);
        for (int64_t i = 0; i < reads; ++i)
            place[i] =
                static_cast<int32_t>((static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15u) >> (64 - log_size));
        model::ArrayReads& one = cpu.arrays[k];
        one.bytes = static_cast<double>(size) * sizeof(double);
        one.random_s = random_s(place, repetitions, array.data());
        const std::span<const uint32_t> words(reinterpret_cast<const uint32_t*>(array.data()),
                                              2 * static_cast<size_t>(size));
        one.line_s = 64 / study::bench_sweep(Sweep::read, single, words, repetitions);
    }
    for (size_t k = cpu.arrays.size() - 1; k > 0; --k) { // a smaller array is not slower: that was noise
        model::ArrayReads &small = cpu.arrays[k - 1], &large = cpu.arrays[k];
        small.random_s = std::min(small.random_s, large.random_s);
        small.line_s = std::min(small.line_s, large.line_s);
    }
}

void measure_memory(model::Cpu& cpu, const backend::Executor& all, int repetitions) {
    const backend::Executor single{all.memory, 1};
    const int64_t bytes = std::min(memory_bytes * all.threads, most_memory_bytes);
    Words words = touched(all, bytes);
    const auto sweep = [&](Sweep what, const backend::Executor& executor, int64_t size) {
        return study::bench_sweep(what, executor, first(words, size), repetitions);
    };
    cpu.core_read_bandwidth_bytes_per_s = sweep(Sweep::read, single, memory_bytes);
    cpu.read_bandwidth_bytes_per_s =
        all.threads > 1 ? sweep(Sweep::read, all, bytes) : cpu.core_read_bandwidth_bytes_per_s;
    cpu.count_left_bytes_per_s = sweep(Sweep::count, all, bytes);
    cpu.core_copy_bandwidth_bytes_per_s = copy_bandwidth(single, words, memory_bytes, repetitions);
    cpu.copy_bandwidth_bytes_per_s = all.threads > 1 ? copy_bandwidth(all, words, bytes, repetitions)
                                                     : cpu.core_copy_bandwidth_bytes_per_s;
}

void measure_loops(model::Cpu& cpu, core::Memory& memory, int repetitions) {
    const P2pBench single = study::bench_p2p<float>(repetitions);
    cpu.core_pairs_fp32_per_s = single.pairs_per_s;
    cpu.core_pairs_fp64_per_s = study::bench_p2p<double>(repetitions).pairs_per_s;
    cpu.flops = 2 * single.fma_per_s * cpu.simd_floats * cpu.cores; // a multiply-add is two
    cpu.core_partition_records_per_s =
        study::bench_partition(memory, int64_t{1} << 22, repetitions).records_per_s;
}

} // namespace

void calibrate_core(model::Machine& machine, int threads, int repetitions, CalibrationParts& parts) {
    core::Memory memory;
    model::Cpu& cpu = machine.cpu;
    machine.cpu_name = model::processor_name();
    cpu.cores = threads;
    cpu.memory_bytes =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    cpu.simd_floats = forces::simd_float_lanes();
    parts.time("caches", [&] { measure_caches(cpu, memory, repetitions); });
    parts.time("arrays", [&] { measure_arrays(cpu, memory, 2 * repetitions); });
    parts.time("loops of the CPU", [&] { measure_loops(cpu, memory, repetitions); });
}

void calibrate_memory(model::Machine& machine, int threads, int repetitions, CalibrationParts& parts) {
    core::Memory memory;
    parts.time("memory", [&] { measure_memory(machine.cpu, {memory, threads}, repetitions); });
}

} // namespace graft::study
