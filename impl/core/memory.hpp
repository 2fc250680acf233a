// SPDX-License-Identifier: BSD-3-Clause
// Where every byte of the engine comes from.
//
// Memory is the accountant between the buffers and the allocator (the host's, or operator new): it counts
// bytes and calls, so that "no allocation in the steady state" is a number, and it turns a refused allocation
// into an Error that names what was wanted and what is held. Thread-safe when the allocator is.
#pragma once

#include <atomic>
#include <cstdint>

namespace graft::core {

/// A host's allocator; both functions must be callable from any thread.
struct Allocator {
    void* user = nullptr;
    void* (*allocate)(void* user, int64_t bytes, int64_t alignment) = nullptr; // NULL result = refused
    void (*release)(void* user, void* pointer, int64_t bytes) = nullptr;
};

class Memory {
  public:
    static constexpr int64_t alignment = 64; // one cache line, one AVX-512 vector

    Memory() = default;
    explicit Memory(const Allocator& allocator) : allocator_(allocator) {}
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    /// bytes > 0, aligned to `alignment`; throws Error(memory). `what` names the buffer in the message.
    void* allocate(int64_t bytes, const char* what);
    void release(void* pointer, int64_t bytes) noexcept;

    int64_t bytes_held() const noexcept { return bytes_held_.load(std::memory_order_relaxed); }
    int64_t bytes_peak() const noexcept { return bytes_peak_.load(std::memory_order_relaxed); }
    int64_t allocations() const noexcept { return allocations_.load(std::memory_order_relaxed); }

  private:
    Allocator allocator_{};
    std::atomic<int64_t> bytes_held_{0};
    std::atomic<int64_t> bytes_peak_{0};
    std::atomic<int64_t> allocations_{0};
};

} // namespace graft::core
