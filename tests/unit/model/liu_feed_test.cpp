// SPDX-License-Identifier: BSD-3-Clause
// The times of fed buffers against a play of host and device, buffer by buffer; which buffers are best where.
#include "model/liu_feed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace graft::model {
namespace {

PaperFeedCounts work_of(double leaf_entries, double node_entries, double device_s) {
    return {leaf_entries, node_entries, 2, device_s};
}

/// The host fills one buffer after the other and sends it; the device takes them one by one.
double play(const PaperFeedCounts& work, double buffer, const PaperFeedHost& host, const PaperGpu& gpu) {
    const double all = work.leaf_entries + work.node_entries;
    double host_s = 0, device_s = 0;
    for (const double kind : {work.leaf_entries, work.node_entries})
        for (double left = kind; left > 0; left -= buffer) {
            const double now = std::min(left, buffer);
            host_s += now * host.append_s + host.call_s;
            device_s = std::max(device_s, host_s) + std::max({gpu.kernel_s, now / all * work.device_s,
                                                              4 * work.words * now / gpu.copy_bytes_per_s});
        }
    return std::max(host_s, device_s);
}

TEST(PaperFeed, TakesWhatHostAndDeviceTakeTogether) {
    const PaperGpu gpu;
    const PaperFeedHost host;
    for (const double device_s : {0.01, 0.03, 0.1, 1.0})
        for (double buffer = least_buffer; buffer <= most_buffer; buffer *= 2) {
            const PaperFeedCounts work = work_of(1e7, 2e7, device_s);
            EXPECT_NEAR(paper_feed_times(work, buffer, host, gpu).total_s() / play(work, buffer, host, gpu),
                        1, 0.03)
                << device_s << " " << buffer;
        }
}

TEST(PaperFeed, NothingTakesNoTime) {
    EXPECT_EQ(paper_feed_times({}, 8192, {}, {}).total_s(), 0);
}

/// A host that is the slower one: calls against the last buffer's kernel, least where n buffers' calls take
/// the time of one buffer's kernel.
TEST(PaperFeed, TheBestBufferIsNeitherTheSmallestNorTheLargest) {
    const double all = 3e6, device_s = 2e-3;
    const PaperFeedHost host{1e-9, 1e-5};
    const std::vector<PaperBuffer> ranked =
        rank_paper_buffers(work_of(all / 3, all * 2 / 3, device_s), host, {});
    EXPECT_EQ(ranked.size(), 10u);
    EXPECT_TRUE(std::ranges::is_sorted(ranked, {}, [](const auto& one) { return one.times.total_s(); }));
    EXPECT_LT(ranked.front().interactions, most_buffer + 1);
    const double best = all * std::sqrt(host.call_s / device_s);
    EXPECT_NEAR(std::log2(ranked.front().interactions / best), 0, 1);
}

TEST(PaperFeed, TimesThatAGpuTook) { // an H200, Plummer 5e5 and 3e6 with theta 0.7, leaf = group = 32
    const struct {
        double buffer, ms;
    } few[] = {{512, 673},    {1024, 454},   {2048, 288},   {4096, 177},    {8192, 117},
               {16384, 80.6}, {32768, 56.5}, {65536, 46.1}, {131072, 42.3}, {262144, 42.6}},
      many[] = {{512, 4866}, {2048, 2157}, {8192, 877}, {32768, 419}, {131072, 317}},
      tiles[] = {{1024, 260},   {2048, 133},   {4096, 73.4},  {8192, 43.0},
                 {16384, 29.4}, {32768, 22.3}, {65536, 19.2}, {131072, 17.5}};
    const PaperGpu gpu;
    const double latency_s = 2630 / gpu.clock_hz * 23; // targets a group
    const auto ms_of = [&](double all, double words, double device_s, double latency, double buffer) {
        return 1e3 *
               paper_feed_times({all / 3, all * 2 / 3, words, device_s, latency}, buffer, {}, gpu).total_s();
    };
    for (const auto& one : few)
        EXPECT_NEAR(ms_of(2.869e7, 2, 0.0367, latency_s, one.buffer) / one.ms, 1, 0.1) << one.buffer;
    for (const auto& one : many) // not of the fit
        EXPECT_NEAR(ms_of(1.972e8, 2, 0.254, latency_s, one.buffer) / one.ms, 1, 0.12) << one.buffer;
    for (const auto& one : tiles)
        EXPECT_NEAR(ms_of(2.869e7, 17.0 / 16, 0.0169, 0, one.buffer) / one.ms, 1, 0.1) << one.buffer;
}

/// His host and device: few interactions, long in a kernel; figure 4.2 has the best at 8,192.
TEST(PaperFeed, ASlowDeviceLikesSmallBuffers) {
    PaperGpu slow;
    const PaperFeedHost host{4e-9, 1e-5};
    const auto best = [&](double device_s) {
        return rank_paper_buffers(work_of(1e6, 1e6, device_s), host, slow).front().interactions;
    };
    EXPECT_LT(best(1), best(1e-4)); // the first buffer's filling and the last's kernel are all that is left
    EXPECT_LE(best(1), 8192);
}

TEST(PaperFeed, WorkIsThatOfTheLists) {
    const PaperCounts lists{32, 32, 2, 1e6, 4e4, 1e7, 3e7, 20};
    const PaperGpu gpu;
    const PaperFeedCounts one = paper_feed_work(lists, paper_pairs_1d, gpu);
    EXPECT_EQ(one.leaf_entries, 1e7);
    EXPECT_EQ(one.node_entries, 3e7);
    EXPECT_EQ(one.words, 2);
    EXPECT_EQ(one.device_s, pairs_1d_s(lists, 256, gpu));
    const PaperFeedCounts two = paper_feed_work(lists, {16, 32}, gpu);
    EXPECT_EQ(two.leaf_entries, 1e7 + 8 * 4e4); // half a chunk more a group
    EXPECT_EQ(two.words, 1 + 1.0 / 16);
    EXPECT_LT(two.device_s, tiles_2d_s(lists, {16, 32}, gpu)); // their blocks search for nothing
    EXPECT_EQ(two.latency_s, 0);
    EXPECT_GT(one.latency_s, 0);
}

} // namespace
} // namespace graft::model
