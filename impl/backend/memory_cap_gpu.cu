// SPDX-License-Identifier: BSD-3-Clause
// See memory_cap_gpu.cuh.
#include "backend/memory_cap_gpu.cuh"

#include "backend/block_cache_gpu.cuh"
#include "backend/context_gpu.cuh"
#include "backend/queue_gpu.cuh"

#include <algorithm>

namespace graft::backend {

void refuse_memory(const std::string& wanted, const std::string& there, const char* remedy) {
    (void)cudaGetLastError(); // not sticky: the next call starts clean
    core::fail(core::Status::memory, "%s, %s; %s", wanted.c_str(), there.c_str(), remedy);
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

} // namespace graft::backend
