// SPDX-License-Identifier: BSD-3-Clause
// The host's arrays to the device and back, through page-locked memory in two pieces that take turns: while
// one is on the link, threads fill or empty the other.
#pragma once

#include "backend/queue_gpu.cuh"
#include "core/memory.hpp"

#include <cstdint>

namespace graft::decompose {

class HostTransfer {
  public:
    explicit HostTransfer(backend::Queue& queue);
    ~HostTransfer();
    HostTransfer(const HostTransfer&) = delete;
    HostTransfer& operator=(const HostTransfer&) = delete;

    /// Threads of the host that copy.
    void set_threads(int threads) noexcept { threads_ = threads; }
    /// Enqueued on the queue's stream; `from` has been read when it returns, unless it is page-locked.
    void send(void* to, const void* from, int64_t bytes);
    /// Waits for the stream: the bytes are there when it returns.
    void fetch(void* to, const void* from, int64_t bytes);

  private:
    void copy(void* to, const void* from, int64_t bytes);

    backend::Queue& queue_;
    core::Memory host_;
    backend::PinnedBuffer<char> piece_[2];
    cudaEvent_t done_[2] = {nullptr, nullptr};
    bool busy_[2] = {false, false};
    int next_ = 0, threads_ = 1;
};

} // namespace graft::decompose
