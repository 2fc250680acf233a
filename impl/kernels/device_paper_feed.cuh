// liu2022's way to feed the GPU (sections 3.2 and 4): the host walks the tree, collects interactions in
// buffers, and each full buffer is a copy and a kernel.
//
// Every partition of the targets has two streams, one for leaves and one for nodes. A stream has `slots`
// buffers on either side: the host fills one while the device works on the others, and waits only for a slot
// that is still in use. Host buffers are page-locked (his choice) or plain memory. This is a study's variant:
// it waits for the device, and its sums are added atomically.
#pragma once

#include "kernels/device_pairs_1d.cuh"
#include "kernels/device_tiles_2d.cuh"

#include <memory>
#include <vector>

namespace graft::kernels {

struct PaperFeedOptions {
    int64_t buffer = 8192; // interactions (2-D: source nodes) a kernel
    int partitions = 31;   // his chares a process
    int threads = 256;     // a block, 1-D
    bool tiles = false;    // the 2-D kernels
    int block_x = 16, block_y = 32;
    bool pinned = true;
    bool trace = false; // note the times of every kernel
    int order = 2;
};

/// One kernel, seconds since the feed began.
struct PaperLaunch {
    bool leaves;
    double host_s;         // when the host enqueued it
    double begin_s, end_s; // on the device, its copies done and itself done
};

/// What a feed did.
struct PaperFeedReport {
    double wall_s = 0, copy_call_s = 0; // from the first interaction to the last sum; inside the copy calls
    int64_t launches = 0, bytes = 0;
    std::vector<PaperLaunch> kernels; // if traced
};

class PaperFeed {
  public:
    PaperFeed(backend::DeviceMemory& memory, const PaperView& view, const PaperFeedOptions& options);
    ~PaperFeed();
    PaperFeed(const PaperFeed&) = delete;
    PaperFeed& operator=(const PaperFeed&) = delete;

    /// 1-D: one interaction of a group of `partition` with a leaf or a node.
    void add(int partition, bool leaf, int32_t group, int32_t source);
    /// 2-D: up to block_x interactions of one group.
    void add_chunk(int partition, bool leaf, int32_t group, const int32_t* sources, int count);
    /// Sends what is left and waits for all kernels.
    PaperFeedReport finish();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace graft::kernels
