// Work beside a queue's own: a second stream, and the order between the two.
#pragma once

#include "backend/device.cuh"

namespace graft::backend {

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

/// `to` goes on when `from` has come this far.
inline void follow(cudaStream_t to, cudaStream_t from, cudaEvent_t event) {
    GRAFT_CUDA(cudaEventRecord(event, from));
    GRAFT_CUDA(cudaStreamWaitEvent(to, event, 0));
}

} // namespace graft::backend
