// SPDX-License-Identifier: BSD-3-Clause
// Allocation, accounting and the out-of-memory message.
#include "core/memory.hpp"

#include "core/error.hpp"

#include <new>

namespace graft::core {

namespace {

void* aligned(const Allocator& allocator, int64_t bytes) {
    void* pointer = allocator.allocate(allocator.user, bytes, Memory::alignment);
    if (reinterpret_cast<uintptr_t>(pointer) % static_cast<uintptr_t>(Memory::alignment) == 0)
        return pointer;
    allocator.release(allocator.user, pointer, bytes);
    fail(Status::argument,
         "the host's allocator answered %p to a request of %lld bytes; expected a multiple of %lld, the "
         "alignment that it was asked for. Use aligned_alloc or posix_memalign instead of malloc",
         pointer, static_cast<long long>(bytes), static_cast<long long>(Memory::alignment));
}

} // namespace

void* Memory::allocate(int64_t bytes, const char* what) {
    void* pointer =
        allocator_.allocate != nullptr
            ? aligned(allocator_, bytes)
            : ::operator new(static_cast<size_t>(bytes), std::align_val_t(alignment), std::nothrow);
    if (pointer == nullptr)
        fail(Status::memory,
             "out of memory: %lld bytes for %s were refused; this context holds %lld bytes. "
             "Try fewer particles per rank, a smaller tree.leaf, or precision: fp32",
             static_cast<long long>(bytes), what, static_cast<long long>(bytes_held()));
    const int64_t held = bytes_held_.fetch_add(bytes) + bytes;
    int64_t peak = bytes_peak_.load();
    while (held > peak && !bytes_peak_.compare_exchange_weak(peak, held)) {
    }
    allocations_.fetch_add(1);
    return pointer;
}

void Memory::release(void* pointer, int64_t bytes) noexcept {
    if (pointer == nullptr)
        return;
    bytes_held_.fetch_sub(bytes);
    if (allocator_.allocate != nullptr)
        allocator_.release(allocator_.user, pointer, bytes);
    else
        ::operator delete(pointer, std::align_val_t(alignment));
}

} // namespace graft::core
