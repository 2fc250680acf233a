// Checked calls, counted memory, the queue: see device.cuh.
#include "backend/device.cuh"

#include "backend/device_context.cuh"

#include <algorithm>
#include <cstdlib>

namespace graft::backend {

void check(cudaError_t error, const char* call) {
    if (error == cudaSuccess)
        return;
    (void)cudaGetLastError(); // not sticky: the next call starts clean
    core::fail(error == cudaErrorMemoryAllocation ? core::Status::memory : core::Status::device,
               "CUDA: %s failed: %s (%s)", call, cudaGetErrorString(error), cudaGetErrorName(error));
}

int64_t DeviceMemory::bytes_free() const {
    size_t free = 0, total = 0;
    GRAFT_CUDA(use_device(device_));
    GRAFT_CUDA(cudaMemGetInfo(&free, &total));
    const int64_t on_device = static_cast<int64_t>(free);
    return limit_ > 0 ? std::max<int64_t>(0, std::min(on_device, limit_ - bytes_held_)) : on_device;
}

void DeviceMemory::count(int64_t bytes) noexcept {
    bytes_held_ += bytes;
    bytes_peak_ = std::max(bytes_peak_, bytes_held_);
    ++allocations_;
}

void* DeviceMemory::allocate(int64_t bytes, const char* what) {
    GRAFT_CUDA(use_device(device_));
    void* pointer = nullptr;
    const bool allowed = limit_ == 0 || bytes_held_ + bytes <= limit_;
    const cudaError_t error =
        allowed ? cudaMalloc(&pointer, static_cast<size_t>(bytes)) : cudaErrorMemoryAllocation;
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        core::fail(core::Status::memory,
                   "device %d: no memory for %s: %lld bytes wanted, %lld free%s, %lld held by Graft; use "
                   "fewer particles "
                   "per device, precision fp32, or free device memory",
                   device_, what, static_cast<long long>(bytes), static_cast<long long>(bytes_free()),
                   limit_ > 0 ? " of what cuda.memory allows" : "", static_cast<long long>(bytes_held_));
    }
    check(error, "cudaMalloc");
    count(bytes);
    return pointer;
}

void DeviceMemory::release(void* pointer, int64_t bytes) noexcept {
    if (pointer == nullptr)
        return;
    (void)use_device(device_);
    (void)cudaFree(pointer); // waits for work that may still use it
    bytes_held_ -= bytes;
}

void* DeviceMemory::allocate_pinned(int64_t bytes, const char* what) {
    GRAFT_CUDA(use_device(device_));
    void* pointer = nullptr;
    const cudaError_t error = cudaHostAlloc(&pointer, static_cast<size_t>(bytes), cudaHostAllocPortable);
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        core::fail(core::Status::memory,
                   "no page-locked host memory for %s: %lld bytes wanted, %lld held by Graft", what,
                   static_cast<long long>(bytes), static_cast<long long>(bytes_pinned_));
    }
    check(error, "cudaHostAlloc");
    bytes_pinned_ += bytes;
    ++allocations_;
    return pointer;
}

void DeviceMemory::release_pinned(void* pointer, int64_t bytes) noexcept {
    if (pointer == nullptr)
        return;
    (void)cudaFreeHost(pointer);
    bytes_pinned_ -= bytes;
}

namespace {

/// The device's, or fewer where GRAFT_CUDA_MULTIPROCESSORS says so: racecheck takes its time by the block,
/// and blocks that come again to the same shared memory show it more.
int multiprocessors_of(int device) {
    int count = 0;
    GRAFT_CUDA(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
    const char* const wanted = std::getenv("GRAFT_CUDA_MULTIPROCESSORS");
    return wanted != nullptr ? std::clamp(std::atoi(wanted), 1, count) : count;
}

} // namespace

Queue::Queue(DeviceMemory& memory, cudaStream_t stream)
    : memory_(&memory), status_(memory, "status words"), host_status_(memory, "status words"),
      scratch_(memory, "scratch of sorts and scans") {
    GRAFT_CUDA(use_device(memory.device()));
    multiprocessors_ = multiprocessors_of(memory.device());
    status_.resize(1);
    host_status_.resize(1);
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
