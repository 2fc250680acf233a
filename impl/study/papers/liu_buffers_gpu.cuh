// SPDX-License-Identifier: BSD-3-Clause
// liu2022's way to feed the GPU (sections 3.2 and 4): the host collects interactions in buffers, and each
// full buffer is a copy and a kernel.
//
// A lane is a stream with `slots` buffers on either side: the host fills one while the device works on the
// others, and waits only for a slot that is still in use. His host walks the tree, each of 31 partitions of
// the targets with a lane for leaves and one for nodes; where the lists are there (liu_fed_lists_gpu.cuh), buffers
// are filled one after the other and lanes take turns, so that kernels of several run at a time. Host buffers
// are page-locked (his choice) or plain memory. Sums are added atomically.
#pragma once

#include "study/papers/liu_1d_gpu.cuh"
#include "study/papers/liu_2d_gpu.cuh"

#include <memory>
#include <vector>

namespace graft::study {

struct PaperFeedOptions {
    int64_t buffer = 8192; // interactions (2-D: source nodes) a kernel
    int lanes = 62;        // leaves and nodes of his 31 chares a process
    int threads = 256;     // a block, 1-D
    bool tiles = false;    // the 2-D kernels
    int block_x = 16, block_y = 32;
    bool pinned = true;
    bool trace = false; // note the times of every kernel
    int order = 2;
    bool potential = false;
    bool operator==(const PaperFeedOptions&) const = default;
};

/// One kernel, seconds since the feed began.
struct PaperLaunch {
    bool leaves;
    double host_s;         // when the host enqueued it
    double begin_s, end_s; // on the device, its copies done and itself done
};

/// What a feed did.
struct PaperFeedReport {
    double wall_s = 0;                                 // from begin() to the last sum
    double copy_call_s = 0, call_s = 0, wait_s = 0;    // in copies' calls; all calls; for slots
    int64_t launches = 0, interactions = 0, bytes = 0; // 2-D: with those that fill up chunks; bytes copied
    std::vector<PaperLaunch> kernels;                  // if traced
};

class PaperFeed {
  public:
    /// Allocates: 64 B a lane and interaction of a buffer, half of it on the host.
    PaperFeed(backend::DeviceMemory& memory, const PaperFeedOptions& options);
    ~PaperFeed();
    PaperFeed(const PaperFeed&) = delete;
    PaperFeed& operator=(const PaperFeed&) = delete;
    const PaperFeedOptions& options() const;

    /// Starts the clock. What `view` shows is complete on the device, and stays until finish().
    void begin(const PaperView& view);
    /// 1-D: one interaction of a group with a leaf or a node; a lane is fed with one of these alone.
    void add(int lane, bool leaf, int32_t group, int32_t source);
    /// 2-D: up to block_x interactions of one group.
    void add_chunk(int lane, bool leaf, int32_t group, const int32_t* sources, int count);
    /// 1-D or 2-D: a group's interactions, to lanes that take turns. After the last with leaves, and before
    /// the first with nodes, end_turn().
    void add_list(bool leaf, int32_t group, const int32_t* sources, int64_t count);
    void end_turn(bool leaf);
    /// Sends what is left in lanes fed by add() and add_chunk(), even ones nodes and odd ones leaves, and
    /// waits for all kernels.
    PaperFeedReport finish();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace graft::study
