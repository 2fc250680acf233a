// SPDX-License-Identifier: BSD-3-Clause
// See liu_feed.hpp.
#include "model/liu_feed.hpp"

#include <algorithm>
#include <cmath>

namespace graft::model {

namespace {

constexpr double word_bytes = 4;
constexpr double target_cycles = 2630; // of latency_s, a target of a group
constexpr double least_latent = 64;    // interactions
constexpr double together = 1.3;       // power of a sum: latency that other kernels' work hides in part
// Chunks in buffers name their group, which blocks of whole lists search; and no block is without work.
constexpr double fed_tiles = 0.585;

} // namespace

PaperFeedCounts paper_feed_work(const PaperCounts& work, BlockShape block, const PaperGpu& gpu) {
    if (block.y == 0)
        return {work.leaf_entries, work.node_entries, 2, pairs_1d_s(work, block.x, gpu),
                target_cycles / gpu.clock_hz * (work.groups > 0 ? work.targets / work.groups : 0)};
    const double filled = 0.5 * block.x * work.groups;
    return {work.leaf_entries + filled, work.node_entries + filled, 1 + 1.0 / block.x,
            fed_tiles * tiles_2d_s(work, block, gpu), 0};
}

double PaperFeedTimes::total_s() const {
    return std::max(append_s + call_s + tail_s, fill_s + device_s);
}

PaperFeedTimes paper_feed_times(const PaperFeedCounts& work, double buffer, const PaperFeedHost& host,
                                const PaperGpu& gpu) {
    const double interactions = work.leaf_entries + work.node_entries;
    PaperFeedTimes times;
    if (interactions <= 0)
        return times;
    times.launches = std::ceil(work.leaf_entries / buffer) + std::ceil(work.node_entries / buffer);
    times.append_s = interactions * host.append_s;
    times.call_s = times.launches * host.call_s;
    const double filled = std::min(interactions, buffer);
    times.fill_s = filled * host.append_s + host.call_s;
    const double share_s = work.device_s * filled / interactions,
                 latency_s = work.latency_s * std::log2(std::max(2.0, buffer / least_latent)) / fed_lanes;
    times.tail_s = std::pow(std::pow(share_s, together) + std::pow(latency_s, together), 1 / together);
    times.device_s = std::max(times.launches * std::max(times.tail_s, gpu.kernel_s),
                              word_bytes * work.words * interactions / gpu.copy_bytes_per_s);
    return times;
}

std::vector<PaperBuffer> rank_paper_buffers(const PaperFeedCounts& work, const PaperFeedHost& host,
                                            const PaperGpu& gpu) {
    std::vector<PaperBuffer> list;
    double buffer = least_buffer;
    while (buffer <= most_buffer) {
        list.push_back({buffer, paper_feed_times(work, buffer, host, gpu)});
        buffer *= 2;
    }
    std::stable_sort(list.begin(), list.end(), [](const PaperBuffer& a, const PaperBuffer& b) {
        return a.times.total_s() < b.times.total_s();
    });
    return list;
}

} // namespace graft::model
