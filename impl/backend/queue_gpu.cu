// SPDX-License-Identifier: BSD-3-Clause
// Checked calls, the queue: see queue_gpu.cuh.
#include "backend/queue_gpu.cuh"

#include "backend/context_gpu.cuh"
#include "backend/host_stream_gpu.cuh"

#include <algorithm>
#include <cstdlib>

namespace graft::backend {

void check(cudaError_t error, const char* call) {
    if (error == cudaSuccess)
        return;
    if (error == cudaErrorMemoryAllocation) { // of the driver's own, as for a stream
        size_t free = 0, total = 0;
        (void)cudaMemGetInfo(&free, &total);
        refuse_memory(core::format("CUDA: %s failed: %s (%s): the driver wanted some bytes, it does not say "
                                   "how many",
                                   call, cudaGetErrorString(error), cudaGetErrorName(error)),
                      core::format("%lld free of %lld on the device", static_cast<long long>(free),
                                   static_cast<long long>(total)),
                      "free device memory");
    }
    (void)cudaGetLastError(); // as above
    core::fail(core::Status::device, "CUDA: %s failed: %s (%s)", call, cudaGetErrorString(error),
               cudaGetErrorName(error));
}

namespace {

#ifdef GRAFT_TEST_HOOKS
/// Fewer of them where GRAFT_CUDA_MULTIPROCESSORS says so: racecheck takes its time by the block, and blocks
/// that come again to the same shared memory show it more.
int fewer_for_tests(int count) {
    const char* const wanted = std::getenv("GRAFT_CUDA_MULTIPROCESSORS");
    if (wanted == nullptr)
        return count;
    char* end = nullptr;
    const long number = std::strtol(wanted, &end, 10);
    if (end == wanted || *end != '\0' || number < 1)
        throw core::Error(
            core::Status::argument,
            core::format("GRAFT_CUDA_MULTIPROCESSORS is '%s'; expected a whole number from 1 on, "
                         "or unset it",
                         wanted));
    return static_cast<int>(std::min<long>(number, count));
}
#else
int fewer_for_tests(int count) {
    return count;
}
#endif

int multiprocessors_of(int device) {
    int count = 0;
    GRAFT_CUDA(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
    return fewer_for_tests(count);
}

} // namespace

cudaStream_t host_stream(void* stream) {
    const auto given = static_cast<cudaStream_t>(stream);
    if (given == nullptr)
        return nullptr;
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaError_t error = cudaStreamIsCapturing(given, &status);
    if (error == cudaErrorStreamCaptureImplicit || status != cudaStreamCaptureStatusNone) {
        (void)cudaGetLastError();
        core::fail(core::Status::argument,
                   "the stream given by context_set_stream is in capture, and what Graft does cannot become "
                   "part of the host's CUDA graph: it allocates, and looks at what it finds; expected this "
                   "call before cudaStreamBeginCapture or after cudaStreamEndCapture, or another stream");
    }
    GRAFT_CUDA(error);
    return given;
}

Queue::Queue(DeviceMemory& memory, cudaStream_t stream)
    : memory_(&memory), status_(memory, "status words"), host_status_(memory, "status words"),
      scratch_(memory, "scratch of sorts and scans") {
    GRAFT_CUDA(use_device(memory.device()));
    multiprocessors_ = multiprocessors_of(memory.device());
    status_.resize(1);
    host_status_.resize(1);
    *host_status_.data() = {}; // kept memory holds what was there before
    GRAFT_CUDA(cudaStreamCreateWithFlags(&own_, cudaStreamNonBlocking));
    borrow(stream);
}

Queue::~Queue() {
    (void)use_device(memory_->device());
    if (own_ != nullptr)
        (void)cudaStreamDestroy(own_);
}

void Queue::borrow(cudaStream_t stream) noexcept {
    stream_ = stream != nullptr ? stream : own_;
}

void Queue::clear_status() {
    GRAFT_CUDA(cudaMemsetAsync(status_.data(), 0, sizeof(DeviceStatus), stream_));
}

void Queue::fetch_status() {
    GRAFT_CUDA(cudaMemcpyAsync(host_status_.data(), status_.data(), sizeof(DeviceStatus),
                               cudaMemcpyDeviceToHost, stream_));
}

void Queue::wait() {
    ++waits_;
    GRAFT_CUDA(cudaStreamSynchronize(stream_));
}

void* Queue::scratch(int64_t bytes) {
    scratch_.resize(std::max<int64_t>(bytes, 1));
    return scratch_.data();
}

} // namespace graft::backend
