// SPDX-License-Identifier: BSD-3-Clause
// The host's allocator of device memory, such as its own pool.
#pragma once

#include <cstdint>

namespace graft::backend {

/// Both functions are called with the device current, and name the stream that Graft works on. What is
/// allocated may be used by anybody's work when Graft has waited for that stream, and Graft does; what is
/// released is in no work's use.
struct GpuAllocator {
    void* user = nullptr;
    void* (*allocate)(void* user, int64_t bytes, int32_t device, void* stream) = nullptr; // NULL: refused
    void (*release)(void* user, void* pointer, int64_t bytes, int32_t device, void* stream) = nullptr;
    bool present() const noexcept { return allocate != nullptr; }
};

} // namespace graft::backend
