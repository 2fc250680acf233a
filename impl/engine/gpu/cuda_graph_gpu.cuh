// SPDX-License-Identifier: BSD-3-Clause
// Small computations as CUDA graphs: the second of two equal calls is captured, all that follow are replayed.
//
// Equal are calls with the same settings, sizes, pointers and strides, between which no buffer has grown,
// with all inputs in device memory. Any other call drops the graph: what the host remembers of a computation
// is then that of the last one enqueued.
#pragma once

#include "engine/gpu/steps_gpu.cuh"

#include <cstdint>
#include <utility>
#include <vector>

namespace graft::engine {

class Graph {
  public:
    Graph() = default;
    ~Graph() { drop(); }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    /// True when the computation has been enqueued as a graph; `enqueue` enqueues it, to be captured.
    template <typename Enqueue>
    bool replay(Steps& s, Enqueue&& enqueue);
    /// After a computation that has succeeded.
    void remember(const Steps& s);
    /// The computation at hand is no replay.
    void forget_replay() { replayed_ = false; }
    bool replayed() const { return replayed_; }
    int64_t launches() const { return launches_; }

  private:
    void begin_capture(Computation& c);
    bool end_capture(Computation& c, bool enqueued);
    void drop() noexcept;

    std::vector<uint64_t> last_key_, key_; // of the last call that succeeded; of the graph
    cudaGraphExec_t executable_ = nullptr;
    int64_t launches_ = 0;
    bool replayed_ = false, refused_ = false;
};

/// What calls must have in common; empty: this one is no call for a graph.
std::vector<uint64_t> graph_key(const Steps& s);

template <typename Enqueue>
bool Graph::replay(Steps& s, Enqueue&& enqueue) {
    replayed_ = false;
    const std::vector<uint64_t> key = graph_key(s);
    if (key.empty() || refused_ || key != last_key_) {
        drop();
        return false;
    }
    if (executable_ == nullptr || key_ != key) {
        drop();
        const cudaStream_t stream = s.c.queue.stream();
        const int64_t before = s.c.queue.launches;
        begin_capture(s.c);
        bool enqueued = true;
        try {
            enqueue();
        } catch (...) { // whatever it was comes again without a graph
            enqueued = false;
        }
        const bool captured = end_capture(s.c, enqueued);
        launches_ = s.c.queue.launches - before;
        s.c.queue.borrow(stream);
        if (!captured)
            return false;
        key_ = key;
    }
    GRAFT_CUDA(cudaGraphLaunch(executable_, s.c.queue.stream()));
    return replayed_ = true;
}

} // namespace graft::engine
