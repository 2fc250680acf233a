// SPDX-License-Identifier: BSD-3-Clause
// Events around the steps of a computation on the device, read after it.
#pragma once

#include "backend/queue_gpu.cuh"

namespace graft::engine {

class DeviceClock {
  public:
    enum Mark { begin, imported, built, summed, prepared, batches }; // from `batches` on two a batch
    static constexpr int timed_batches = 32;
    static constexpr int rest = batches + 2 * timed_batches; // behind the batches that are not timed
    static constexpr int last = rest + 1;

    DeviceClock();
    ~DeviceClock();
    DeviceClock(const DeviceClock&) = delete;
    DeviceClock& operator=(const DeviceClock&) = delete;

    /// The stream is being captured into a graph, whose replays record the events; or it is not.
    void capture(bool capturing) { capturing_ = capturing; }
    void record(cudaStream_t stream, int mark); // enqueued
    void record_end(cudaStream_t stream) { record(stream, last); }
    void forget();                          // nothing has been recorded
    void wait();                            // for the end
    double between(int from, int to) const; // seconds; 0 unless both were recorded

  private:
    cudaEvent_t events_[last + 1] = {};
    bool recorded_[last + 1] = {};
    bool capturing_ = false;
};

} // namespace graft::engine
