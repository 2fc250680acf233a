// SPDX-License-Identifier: BSD-3-Clause
// Events around the steps of a computation.
#include "engine/gpu/step_clock_gpu.cuh"

namespace graft::engine {

DeviceClock::DeviceClock() {
    for (cudaEvent_t& event : events_)
        GRAFT_CUDA(cudaEventCreate(&event));
}

DeviceClock::~DeviceClock() {
    for (cudaEvent_t event : events_)
        (void)cudaEventDestroy(event);
}

void DeviceClock::record(cudaStream_t stream, int mark) {
    GRAFT_CUDA(cudaEventRecordWithFlags(events_[mark], stream,
                                        capturing_ ? cudaEventRecordExternal : cudaEventRecordDefault));
    recorded_[mark] = true;
}

void DeviceClock::forget() {
    for (bool& recorded : recorded_)
        recorded = false;
}

void DeviceClock::wait() {
    GRAFT_CUDA(cudaEventSynchronize(events_[last]));
}

double DeviceClock::between(int from, int to) const {
    float time_ms = 0;
    if (!recorded_[from] || !recorded_[to] ||
        cudaEventElapsedTime(&time_ms, events_[from], events_[to]) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return 1e-3 * static_cast<double>(time_ms);
}

} // namespace graft::engine
