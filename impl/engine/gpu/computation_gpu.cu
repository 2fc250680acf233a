// SPDX-License-Identifier: BSD-3-Clause
// See computation_gpu.cuh.
#include "engine/gpu/computation_gpu.cuh"

#include <algorithm>

namespace graft::engine {

namespace {

int chosen_device(int wanted) {
    int count = 0;
    GRAFT_CUDA(cudaGetDeviceCount(&count));
    const int device = std::max(wanted, 0);
    if (device >= count)
        core::fail(core::Status::argument, "gpu.device: %d; expected 0 to %d, as there are %d devices",
                   device, count - 1, count);
    return device;
}

} // namespace

Computation::Computation(int wanted_device, const backend::GpuAllocator& allocator)
    : memory(chosen_device(wanted_device), allocator), queue(memory, nullptr), side(memory), enqueued(memory),
      outcome(memory, "outcome"), host_outcome(memory, "outcome"), block_sums(memory, "block sums") {
    use_stream(nullptr);
    outcome.resize(1);
    host_outcome.resize(1);
    *host_outcome.data() = {};
    GRAFT_CUDA(cudaMemsetAsync(outcome.data(), 0, sizeof(DeviceOutcome), queue.stream()));
    queue.wait();
}

void Computation::clear_totals() {
    GRAFT_CUDA(cudaMemsetAsync(totals(), 0, sizeof(DeviceOutcome::totals), queue.stream()));
}

void Computation::fetch() {
    GRAFT_CUDA(cudaMemcpyAsync(host_outcome.data(), outcome.data(), sizeof(DeviceOutcome),
                               cudaMemcpyDeviceToHost, queue.stream()));
    queue.fetch_status();
    clock.record_end(queue.stream());
}

void Computation::come_to_rest() noexcept {
    (void)cudaStreamSynchronize(queue.stream());
    (void)cudaStreamSynchronize(side);
    (void)cudaGetLastError();
    use_stream(nullptr);
}

void Computation::use_stream(cudaStream_t stream) noexcept {
    queue.borrow(stream);
    memory.set_stream(queue.stream());
}

} // namespace graft::engine
