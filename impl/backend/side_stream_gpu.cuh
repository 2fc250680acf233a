// SPDX-License-Identifier: BSD-3-Clause
// Work beside a queue's own: a second stream, and the order between the two.
#pragma once

#include "backend/queue_gpu.cuh"
#include "backend/context_gpu.cuh"

namespace graft::backend {

/// An event that orders work and is not timed.
class Event {
  public:
    /// On the memory's device. Throws Error(device).
    explicit Event(const DeviceMemory& memory) {
        GRAFT_CUDA(use_device(memory.device()));
        GRAFT_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    }
    ~Event() { (void)cudaEventDestroy(event_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    operator cudaEvent_t() const noexcept { return event_; }

  private:
    cudaEvent_t event_ = nullptr;
};

/// A stream beside others, with no order between them but what is asked for. Destroyed, it ends what it has
/// been given.
class SideStream {
  public:
    /// urgent: its blocks are started before those of streams that are not. On the memory's device. Throws Error(device).
    explicit SideStream(const DeviceMemory& memory, bool urgent = false) : event_(memory) {
        int least = 0, greatest = 0;
        GRAFT_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
        GRAFT_CUDA(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, urgent ? greatest : least));
    }
    ~SideStream() { (void)cudaStreamDestroy(stream_); }
    SideStream(const SideStream&) = delete;
    SideStream& operator=(const SideStream&) = delete;
    operator cudaStream_t() const noexcept { return stream_; }

    /// What it is given next waits for what `main` has been given so far.
    void follow(cudaStream_t main) const { order(stream_, main); }
    /// What `main` is given next waits for what this one has been given so far.
    void join(cudaStream_t main) const { order(main, stream_); }

  private:
    /// One event does for all: a wait is for the record that came before it, whatever is recorded later.
    void order(cudaStream_t later, cudaStream_t earlier) const {
        GRAFT_CUDA(cudaEventRecord(event_, earlier));
        GRAFT_CUDA(cudaStreamWaitEvent(later, event_, 0));
    }
    Event event_; // made first: where a stream is refused, it goes
    cudaStream_t stream_ = nullptr;
};

/// The side stream as the queue's stream, for as long as this lives.
class OnSide {
  public:
    OnSide(Queue& queue, cudaStream_t side) : queue_(queue), main_(queue.stream()) { queue_.borrow(side); }
    ~OnSide() { queue_.borrow(main_); }
    OnSide(const OnSide&) = delete;
    OnSide& operator=(const OnSide&) = delete;

  private:
    Queue& queue_;
    cudaStream_t main_;
};

} // namespace graft::backend
