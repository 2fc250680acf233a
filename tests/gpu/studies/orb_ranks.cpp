// SPDX-License-Identifier: BSD-3-Clause
// ORB over in-process ranks, each with a GPU of its own (or shared, when there are fewer): time of one
// partition and where it goes, on the GPUs or the CPU; every run checks the parts' sizes. Words: --n,
// --parts, --ranks, --threads (of each rank), --cpu, --weights, --repeats. One line of JSON.
#include "study.hpp"

#include "thread_ranks.hpp"
#include "decompose/decompose.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>

namespace {

using namespace graft;

struct Share {
    std::vector<double> x, y, z, cost;
};

double random_unit(uint64_t i) {
    uint64_t v = (i + 1) * 0x9E3779B97F4A7C15ULL;
    v = (v ^ (v >> 30)) * 0xBF58476D1CE4E5B9ULL;
    v = (v ^ (v >> 27)) * 0x94D049BB133111EBULL;
    return static_cast<double>((v ^ (v >> 31)) >> 11) * 0x1p-53;
}

Share make(const backend::Executor& executor, int64_t begin, int64_t end, bool weights) {
    const auto n = static_cast<size_t>(end - begin);
    Share share{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n),
                std::vector<double>(weights ? n : 0)};
    executor.for_each(end - begin, [&](int64_t k) {
        const auto i = static_cast<size_t>(k);
        const uint64_t g = 4 * static_cast<uint64_t>(begin + k);
        share.x[i] = random_unit(g), share.y[i] = random_unit(g + 1), share.z[i] = random_unit(g + 2);
        if (weights)
            share.cost[i] = 1 + 9 * random_unit(g + 3);
    });
    return share;
}

/// The median by total time of some runs' statistics, and the largest deviation of a part's size.
struct Answer {
    decompose::Statistics statistics;
    int64_t part_least = 0, part_most = 0;
};

Answer measure(comm::Communicator& comm, const study::Words& words) {
    const auto n = static_cast<int64_t>(words.number("n", 1e6));
    const int64_t ranks = comm.size(), rank = comm.rank();
    core::Memory memory;
    const backend::Executor executor{memory, static_cast<int>(words.number("threads", 1))};
    const Share share = make(executor, n * rank / ranks, n * (rank + 1) / ranks, words.has("weights"));
    decompose::Points points;
    points.n = static_cast<int64_t>(share.x.size());
    points.x = share.x.data(), points.y = share.y.data(), points.z = share.z.data();
    points.cost = share.cost.empty() ? nullptr : share.cost.data();
    decompose::Options options;
    options.parts = static_cast<int32_t>(words.number("parts", 64));
    options.device = words.has("cpu") ? decompose::no_device : decompose::device_by_rank;
    decompose::Decomposer decomposer(memory);
    decompose::Result result(memory);
    std::vector<decompose::Statistics> runs;
    for (int run = 0; run <= static_cast<int>(words.number("repeats", 2)); ++run) {
        comm.barrier();
        decomposer.run(comm, executor, options, points, false, result);
        if (run > 0) // the first one allocates
            runs.push_back(result.statistics);
    }
    std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.total_s < b.total_s; });
    std::vector<int64_t> sizes(static_cast<size_t>(options.parts), 0);
    for (const int32_t owner : result.owner)
        ++sizes[static_cast<size_t>(owner)];
    comm.allreduce(sizes.data(), options.parts, comm::Operation::sum);
    return {runs[runs.size() / 2], *std::min_element(sizes.begin(), sizes.end()),
            *std::max_element(sizes.begin(), sizes.end())};
}

} // namespace

int main(int count, char** arguments) try {
    const study::Words words(count, arguments);
    const int ranks = static_cast<int>(words.number("ranks", 1));
    std::mutex printing;
    comm::run_ranks(
        ranks,
        [&](comm::Communicator& comm) {
            const Answer answer = measure(comm, words);
            const decompose::Statistics& s = answer.statistics;
            const std::lock_guard<std::mutex> lock(printing);
            std::printf("{\"study\":\"orb_ranks\",\"n\":%.0f,\"parts\":%.0f,\"ranks\":%d,\"rank\":%d,"
                        "\"on_device\":%d,\"total_s\":%.5g,\"upload_s\":%.5g,\"cuts_s\":%.5g,"
                        "\"partition_s\":%.5g,\"wait_s\":%.5g,\"collectives\":%lld,\"bytes\":%lld,"
                        "\"part_least\":%lld,\"part_most\":%lld}\n",
                        words.number("n", 1e6), words.number("parts", 64), ranks, comm.rank(), s.on_device,
                        s.total_s, s.upload_s, s.cuts_s, s.partition_s, s.wait_s,
                        static_cast<long long>(s.collectives), static_cast<long long>(s.bytes),
                        static_cast<long long>(answer.part_least), static_cast<long long>(answer.part_most));
        },
        0);
} catch (const std::exception& error) {
    std::fprintf(stderr, "study_orb_ranks: %s\n", error.what());
    return 1;
}
