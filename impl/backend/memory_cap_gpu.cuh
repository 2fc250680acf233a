// SPDX-License-Identifier: BSD-3-Clause
// Memory of a GPU: counted, and capped by what the host allows (deck key gpu.memory).
//
// Invariants: every byte of device and pinned memory is taken through DeviceMemory, which counts it; buffers
// grow and are kept, so that a second computation of the same size allocates nothing.
#pragma once

#include "backend/gpu_allocator.hpp"

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace graft::backend {

/// Throws Error(memory): what was wanted, what there is, what to do.
[[noreturn]] void refuse_memory(const std::string& wanted, const std::string& there, const char* remedy);

/// Accountant of one device's memory and of the pinned host memory that goes with it. Not thread-safe.
class DeviceMemory {
  public:
    /// Device memory comes from the host's allocator, where there is one, else from the driver.
    explicit DeviceMemory(int device, const GpuAllocator& allocator = {})
        : device_(device), allocator_(allocator) {}
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    /// Throws Error(memory) that names the buffer, the bytes wanted, held and free. May synchronise the
    /// device.
    void* allocate(int64_t bytes, const char* what);
    void release(void* pointer, int64_t bytes) noexcept;
    /// Page-locked host memory that the device reads and writes, too.
    void* allocate_pinned(int64_t bytes, const char* what);
    void release_pinned(void* pointer, int64_t bytes) noexcept;

    int device() const noexcept { return device_; }
    /// What the host's allocator is told from now on.
    void set_stream(cudaStream_t stream) noexcept { stream_ = stream; }
    int64_t bytes_held() const noexcept { return bytes_held_; }
    int64_t bytes_peak() const noexcept { return bytes_peak_; }
    int64_t bytes_pinned() const noexcept { return bytes_pinned_; }
    int64_t allocations() const noexcept { return allocations_; }
    /// What the host allows in all (deck key gpu.memory); 0: whatever is free.
    void set_limit(int64_t bytes) noexcept { limit_ = bytes; }
    /// Bytes that may still be taken: of the limit, and free on the device. Of a host's pool nobody knows how
    /// much is free in it: the limit alone says, where there is one.
    int64_t bytes_free() const;

  private:
    cudaError_t take(int64_t bytes, void*& pointer);
    void give(void* pointer, int64_t bytes) noexcept;
    void count(int64_t bytes) noexcept;
    int device_;
    GpuAllocator allocator_;
    cudaStream_t stream_ = nullptr;
    int64_t limit_ = 0, bytes_held_ = 0, bytes_peak_ = 0, bytes_pinned_ = 0, allocations_ = 0;
};

/// A growing array of plain values on the device (or pinned on the host): core::Buffer for the other side.
template <typename T, bool pinned = false>
class DeviceBuffer {
    static_assert(std::is_trivially_copyable_v<T>, "DeviceBuffer holds plain values only");

  public:
    explicit DeviceBuffer(DeviceMemory& memory, const char* name) : memory_(&memory), name_(name) {}
    ~DeviceBuffer() { release(); }
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;
    DeviceBuffer(DeviceBuffer&& other) noexcept
        : memory_(other.memory_), name_(other.name_), data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)), capacity_(std::exchange(other.capacity_, 0)) {}

    /// New size, contents undefined; allocates only on growth (then by a sixteenth more than asked for).
    void resize(int64_t size) {
        if (size > capacity_) {
            release();
            const int64_t wanted = size + size / 16;
            data_ = static_cast<T*>(pinned ? memory_->allocate_pinned(wanted * int64_t{sizeof(T)}, name_)
                                           : memory_->allocate(wanted * int64_t{sizeof(T)}, name_));
            capacity_ = wanted;
        }
        size_ = size;
    }
    void release() noexcept {
        if (data_ != nullptr)
            pinned ? memory_->release_pinned(data_, capacity_ * int64_t{sizeof(T)})
                   : memory_->release(data_, capacity_ * int64_t{sizeof(T)});
        data_ = nullptr;
        size_ = capacity_ = 0;
    }
    T* data() const noexcept { return data_; }
    int64_t size() const noexcept { return size_; }
    int64_t capacity() const noexcept { return capacity_; }
    bool empty() const noexcept { return size_ == 0; }
    void swap(DeviceBuffer& other) noexcept {
        std::swap(memory_, other.memory_), std::swap(name_, other.name_), std::swap(data_, other.data_);
        std::swap(size_, other.size_), std::swap(capacity_, other.capacity_);
    }

  private:
    DeviceMemory* memory_;
    const char* name_;
    T* data_ = nullptr;
    int64_t size_ = 0, capacity_ = 0;
};
template <typename T>
using PinnedBuffer = DeviceBuffer<T, true>;

} // namespace graft::backend
