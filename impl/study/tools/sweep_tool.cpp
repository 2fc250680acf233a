// SPDX-License-Identifier: BSD-3-Clause
// Rates of the loops over records, see sweep_tool.hpp.
#include "study/tools/sweep_tool.hpp"

#include "backend/executor.hpp"
#include "core/error.hpp"
#include "study/bench/bench_sweep.hpp"
#include "forces/simd.hpp"

namespace graft::study {
namespace {

constexpr int64_t count_bytes[] = {1 << 14, 1 << 18, 1 << 22, 1 << 28}; // of one thread
constexpr int64_t partition_records[] = {1 << 12, 1 << 15, 1 << 22};

std::string count_json(const backend::Executor& executor, int repetitions) {
    std::string text;
    for (const int64_t bytes : count_bytes) {
        const SweepRate rate =
            bench_count_left(executor, bytes * executor.threads, repetitions);
        text += core::format(
            "%s{\"threads\":%d,\"bytes\":%lld,\"read_gb_per_s\":%.4g,\"count_left_gb_per_s\":%.4g,"
            "\"share_of_read\":%.3f,\"without_simd_gb_per_s\":%.4g}",
            text.empty() ? "" : ",", executor.threads, static_cast<long long>(rate.bytes),
            rate.read_bytes_per_s * 1e-9, rate.count_bytes_per_s * 1e-9, rate.share(),
            rate.scalar_bytes_per_s * 1e-9);
    }
    return text;
}

} // namespace

std::string sweep_json(int repetitions) {
    core::Memory memory;
    const int threads = backend::resolve_threads(0);
    std::string text =
        core::format("{\"simd\":\"%s\",\"operations_per_byte\":1,\"count_left\":[", forces::simd_name());
    text += count_json({memory, 1}, repetitions);
    if (threads > 1)
        text += "," + count_json({memory, threads}, repetitions);
    text += "],\"partition\":[";
    const char* comma = "";
    for (const int64_t records : partition_records) {
        const PartitionRate rate = bench_partition(memory, records, repetitions);
        text +=
            core::format("%s{\"records\":%lld,\"records_per_s\":%.4g,\"gb_per_s\":%.4g}", comma,
                         static_cast<long long>(rate.records), rate.records_per_s, rate.bytes_per_s * 1e-9);
        comma = ",";
    }
    return text + "]}";
}

} // namespace graft::study
