// SPDX-License-Identifier: BSD-3-Clause
// Checked calls, counted memory, the queue: see queue_gpu.cuh.
#include "backend/queue_gpu.cuh"

#include "backend/block_cache_gpu.cuh"
#include "backend/context_gpu.cuh"
#include "backend/host_stream_gpu.cuh"

#include <algorithm>
#include <cstdlib>

namespace graft::backend {

namespace {

/// Throws Error(memory): what was wanted, what there is, what to do.
[[noreturn]] void refuse_memory(const std::string& wanted, const std::string& there, const char* remedy) {
    (void)cudaGetLastError(); // not sticky: the next call starts clean
    core::fail(core::Status::memory, "%s, %s; %s", wanted.c_str(), there.c_str(), remedy);
}

} // namespace

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

int64_t DeviceMemory::bytes_free() const {
    size_t free = 0, total = 0;
    GRAFT_CUDA(use_device(device_));
    if (allocator_.present() && limit_ > 0)
        return std::max<int64_t>(0, limit_ - bytes_held_);
    GRAFT_CUDA(cudaMemGetInfo(&free, &total));
    const int64_t on_device = static_cast<int64_t>(free) + DeviceCache::of(device_).reclaimable();
    return limit_ > 0 ? std::max<int64_t>(0, std::min(on_device, limit_ - bytes_held_)) : on_device;
}

void DeviceMemory::count(int64_t bytes) noexcept {
    bytes_held_ += bytes;
    bytes_peak_ = std::max(bytes_peak_, bytes_held_);
    ++allocations_;
}

namespace {

/// A memory's blocks: from its device's cache, where it has a keeper, or from the driver.
struct Source {
    Source(const DeviceMemory& memory, bool pinned, int64_t wanted)
        : keeper(KeepsBlocks::of(memory)), pinned(pinned),
          bytes(keeper != nullptr ? DeviceCache::of(memory.device()).footprint(wanted, pinned) : wanted) {}
    cudaError_t ask(void*& pointer) const {
        return pinned ? cudaHostAlloc(&pointer, static_cast<size_t>(bytes), cudaHostAllocPortable)
                      : cudaMalloc(&pointer, static_cast<size_t>(bytes));
    }
    cudaError_t take(int device, void*& pointer) const {
        GRAFT_CUDA(use_device(device));
        pointer = keeper != nullptr ? keeper->take(pinned, bytes) : nullptr;
        if (pointer != nullptr)
            return cudaSuccess;
        const cudaError_t error = ask(pointer);
        if (error != cudaErrorMemoryAllocation)
            return error;
        const int64_t given_back =
            DeviceCache::of(device).clear() + (keeper != nullptr ? keeper->clear() : 0);
        return given_back > 0 ? ask(pointer) : error;
    }
    void give(int device, void* pointer) const {
        (void)use_device(device);
        if (keeper == nullptr || !keeper->keep(pinned, {pointer, bytes}))
            (void)(pinned ? cudaFreeHost(pointer)
                          : cudaFree(pointer)); // waits for work that may still use it
    }

    KeepsBlocks* keeper;
    bool pinned;
    int64_t bytes;
};

} // namespace

/// The memory is anybody's when the stream has come to it: all of Graft's streams may use it.
cudaError_t DeviceMemory::take(int64_t bytes, void*& pointer) {
    GRAFT_CUDA(use_device(device_));
    pointer = allocator_.allocate(allocator_.user, bytes, device_, stream_);
    return pointer != nullptr ? cudaStreamSynchronize(stream_) : cudaErrorMemoryAllocation;
}

/// As the driver does it: when no work may still use the memory.
void DeviceMemory::give(void* pointer, int64_t bytes) noexcept {
    (void)use_device(device_);
    (void)cudaDeviceSynchronize();
    allocator_.release(allocator_.user, pointer, bytes, device_, stream_);
}

void* DeviceMemory::allocate(int64_t wanted, const char* what) {
    const Source source(*this, false, wanted);
    const int64_t bytes = source.bytes;
    void* pointer = nullptr;
    const bool allowed = limit_ == 0 || bytes_held_ + bytes <= limit_;
    const auto take_it = [&] { return allocator_.present() ? take(bytes, pointer) : source.take(device_, pointer); };
    const cudaError_t error = allowed ? take_it() : cudaErrorMemoryAllocation;
    if (error == cudaErrorMemoryAllocation)
        refuse_memory(core::format("device %d: no memory for %s: %lld bytes wanted", device_, what,
                                   static_cast<long long>(bytes)),
                      core::format("%lld free%s, %lld held by Graft", static_cast<long long>(bytes_free()),
                                   limit_ > 0 ? " of what gpu.memory allows" : "",
                                   static_cast<long long>(bytes_held_)),
                      "use fewer particles per device, precision fp32, or free device memory");
    check(error, "cudaMalloc");
    count(bytes);
    return pointer;
}

void DeviceMemory::release(void* pointer, int64_t wanted) noexcept {
    if (pointer == nullptr)
        return;
    const Source source(*this, false, wanted);
    allocator_.present() ? give(pointer, source.bytes) : source.give(device_, pointer);
    bytes_held_ -= source.bytes;
}

void* DeviceMemory::allocate_pinned(int64_t wanted, const char* what) {
    const Source source(*this, true, wanted);
    void* pointer = nullptr;
    const cudaError_t error = source.take(device_, pointer);
    if (error == cudaErrorMemoryAllocation)
        refuse_memory(core::format("no page-locked host memory for %s: %lld bytes wanted", what,
                                   static_cast<long long>(source.bytes)),
                      core::format("%lld held by Graft", static_cast<long long>(bytes_pinned_)),
                      "use fewer particles, or free host memory");
    check(error, "cudaHostAlloc");
    bytes_pinned_ += source.bytes;
    ++allocations_;
    return pointer;
}

void DeviceMemory::release_pinned(void* pointer, int64_t wanted) noexcept {
    if (pointer == nullptr)
        return;
    const Source source(*this, true, wanted);
    source.give(device_, pointer);
    bytes_pinned_ -= source.bytes;
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
