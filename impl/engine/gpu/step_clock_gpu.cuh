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

    /// Enqueued. capturing: the stream is being captured into a graph, whose replays record the event.
    void record(cudaStream_t stream, int mark, bool capturing);
    void record_end(cudaStream_t stream, bool capturing) { record(stream, last, capturing); }
    void forget();                          // nothing has been recorded
    void wait();                            // for the end
    double between(int from, int to) const; // seconds; 0 unless both were recorded

  private:
    cudaEvent_t events_[last + 1] = {};
    bool recorded_[last + 1] = {};
};

} // namespace graft::engine
