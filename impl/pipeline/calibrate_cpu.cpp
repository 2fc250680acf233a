// The CPU's rates, see calibrate.hpp.
#include "pipeline/calibrate.hpp"

#include "backend/executor.hpp"
#include "core/buffer.hpp"
#include "core/timer.hpp"
#include "decompose/bench.hpp"
#include "kernels/bench.hpp"
#include "kernels/simd.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

namespace graft::pipeline {

namespace {

constexpr int64_t memory_bytes = int64_t{256} << 20; // of one thread: beyond any cache
constexpr int64_t most_memory_bytes = int64_t{1} << 30;
constexpr int64_t largest_cache_bytes = int64_t{16} << 20; // a core's useful share of a shared one
constexpr double round_s = 5e-3;

/// "model name" of /proc/cpuinfo, "" where there is none.
std::string processor_name() {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/cpuinfo", "r"), std::fclose);
    char line[256];
    while (file && std::fgets(line, sizeof line, file.get()) != nullptr) {
        const char* colon = std::strchr(line, ':');
        if (std::strncmp(line, "model name", 10) != 0 || colon == nullptr)
            continue;
        std::string name = colon + 2;
        name.erase(name.find_last_not_of(" \n") + 1);
        return name;
    }
    return "";
}

/// Bytes a second, read plus written, of every thread copying one half of its part of the array to the other.
double copy_bandwidth(const backend::Executor& executor, int64_t bytes, int repetitions) {
    const int64_t half = std::max<int64_t>(bytes / executor.threads / 2, 64);
    core::Buffer<char> array(executor.memory, "bench array");
    array.resize(2 * half * executor.threads);
    std::memset(array.data(), 1, static_cast<size_t>(array.size()));
    const auto seconds_of = [&](int64_t calls) {
        const core::Timer timer;
        executor.for_blocks(executor.threads, 1, [&](int64_t thread, int64_t, int) {
            char* part = array.data() + 2 * half * thread;
            for (int64_t call = 0; call < calls; ++call)
                std::memcpy(part + half * (call & 1), part + half * (~call & 1), static_cast<size_t>(half));
        });
        return timer.seconds();
    };
    int64_t calls = 2;
    while (seconds_of(calls) < round_s)
        calls *= 2;
    double best = 1e9;
    for (int round = 0; round < repetitions; ++round)
        best = std::min(best, seconds_of(calls) / static_cast<double>(calls));
    return 2 * static_cast<double>(half * executor.threads) / best;
}

/// One core at the levels that the system tells of: an array of half a level.
void measure_caches(model::Cpu& cpu, core::Memory& memory, int repetitions) {
    const backend::Executor single{memory, 1};
    constexpr int levels[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
    size_t found = 0;
    for (const int level : levels) {
        const long bytes = sysconf(level);
        if (bytes <= 0)
            continue;
        const int64_t array = std::min<int64_t>(bytes, largest_cache_bytes) / 2;
        model::Cache& cache = cpu.caches[found++];
        cache.bytes = static_cast<double>(bytes);
        cache.read_bandwidth_bytes_per_s =
            decompose::bench_count_left(single, array, repetitions).read_bytes_per_s;
        cache.copy_bandwidth_bytes_per_s = copy_bandwidth(single, array, repetitions);
    }
}

void measure_memory(model::Cpu& cpu, const backend::Executor& all, int repetitions) {
    const backend::Executor single{all.memory, 1};
    const int64_t bytes = std::min(memory_bytes * all.threads, most_memory_bytes);
    const decompose::SweepRate one = decompose::bench_count_left(single, memory_bytes, repetitions);
    const decompose::SweepRate together =
        all.threads > 1 ? decompose::bench_count_left(all, bytes, repetitions) : one;
    cpu.core_read_bandwidth_bytes_per_s = one.read_bytes_per_s;
    cpu.read_bandwidth_bytes_per_s = together.read_bytes_per_s;
    cpu.count_left_bytes_per_s = together.count_bytes_per_s;
    cpu.core_copy_bandwidth_bytes_per_s = copy_bandwidth(single, memory_bytes, repetitions);
    cpu.copy_bandwidth_bytes_per_s =
        all.threads > 1 ? copy_bandwidth(all, bytes, repetitions) : cpu.core_copy_bandwidth_bytes_per_s;
}

} // namespace

void calibrate_cpu(model::Machine& machine, int threads, int repetitions) {
    core::Memory memory;
    const backend::Executor all{memory, backend::resolve_threads(threads)};
    model::Cpu& cpu = machine.cpu;
    machine.cpu_name = processor_name();
    cpu.cores = all.threads;
    cpu.memory_bytes =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    cpu.simd_floats = kernels::simd_float_lanes();
    measure_caches(cpu, memory, repetitions);
    measure_memory(cpu, all, repetitions);
    const kernels::P2pBench single = kernels::bench_p2p<float>(repetitions);
    cpu.core_pairs_fp32_per_s = single.pairs_per_s;
    cpu.core_pairs_fp64_per_s = kernels::bench_p2p<double>(repetitions).pairs_per_s;
    cpu.flops = 2 * single.fma_per_s * cpu.simd_floats * cpu.cores; // a multiply-add is two
    cpu.core_partition_records_per_s =
        decompose::bench_partition(memory, int64_t{1} << 22, repetitions).records_per_s;
}

} // namespace graft::pipeline
