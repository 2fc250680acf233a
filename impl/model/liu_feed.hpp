// SPDX-License-Identifier: BSD-3-Clause
// Buffers through which a host feeds liu2022's kernels (section 4, figures 4.2 and 4.7): seconds by size.
//
// The host fills buffers one after the other, from page-locked memory; copies and kernels of several streams
// are under way while it fills the next (study/papers/liu_fed_lists_gpu.cuh). Small buffers: a call's time each, and
// kernels that do not fill the device. Large ones: the device waits for the first, and the host for the last.
// Fitted to the feeds of 5e5 bodies on an H200 (docs/lab/gpu/evaluate.md).
#pragma once

#include "model/liu_blocks.hpp"

#include <vector>

namespace graft::model {

/// What the host takes; as built in: that of an H200.
struct PaperFeedHost {
    double append_s = 5.5e-10; // to append an interaction
    double call_s = 8.4e-6;    // to send a buffer: two copies, an event and the kernel
};

struct PaperFeedCounts {
    double leaf_entries = 0, node_entries = 0;
    double words = 2;    // copied for each: 2-D 1 + 1 / BX
    double device_s = 0; // the kernels, of very large buffers
    /// 1-D, a kernel's least time, for each doubling of its buffer from 64 on: the threads of a group add to
    /// the same targets, one after the other, and the more threads, the longer the longest waits.
    double latency_s = 0;
};
inline constexpr double fed_lanes = 8; // whose kernels run at a time; study/papers/liu_fed_lists_gpu.cuh has as many
/// The lists' work for 1-D (block.y 0) or 2-D kernels, where the last chunks of both lists of a group are
/// filled up.
PaperFeedCounts paper_feed_work(const PaperCounts& work, BlockShape block, const PaperGpu& gpu);

struct PaperFeedTimes {
    double launches = 0;
    double append_s = 0, call_s = 0; // the host's
    double fill_s = 0;               // until the first buffer is full
    double device_s = 0;             // kernels, or their copies or starts where these are slower
    double tail_s = 0;               // the device's, with the last buffer
    double total_s() const;
};
PaperFeedTimes paper_feed_times(const PaperFeedCounts& work, double buffer, const PaperFeedHost& host,
                                const PaperGpu& gpu);

struct PaperBuffer {
    double interactions = 0; // the buffer's size
    PaperFeedTimes times;
};
inline constexpr double least_buffer = 512, most_buffer = 1 << 18; // 134 MB, half of it page-locked
/// Buffers by twos, the least predicted time first.
std::vector<PaperBuffer> rank_paper_buffers(const PaperFeedCounts& work, const PaperFeedHost& host,
                                            const PaperGpu& gpu);

} // namespace graft::model
