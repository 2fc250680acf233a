// SPDX-License-Identifier: BSD-3-Clause
// The engine's idea of a host array: where component c of item i stands, in whatever layout the host has.
//
// Invariants (checked by check_view before use): data is not null when n > 0, every element lies within
// `bytes`.
#pragma once

#include "core/error.hpp"

#include <cstdint>

namespace graft::particles {

enum class ElementType : int32_t { f32 = 1, f64 = 2, i32 = 3, i64 = 4, u64 = 5 };

int64_t element_size(ElementType type) noexcept;

/// Where the elements stand. Managed memory is read by both sides; device memory by the GPU alone.
enum class MemorySpace : int32_t { host = 0, device = 1, managed = 2 };

struct ArrayView {
    char* data = nullptr;
    ElementType type = ElementType::f64;
    int32_t components = 1;
    int64_t n = 0;
    int64_t item_stride = 0;
    int64_t component_stride = 0;
    MemorySpace memory = MemorySpace::host;
    bool add = false; // a result: added to what stands there, not written over it

    bool present() const noexcept { return data != nullptr; }
    bool on_host() const noexcept { return memory != MemorySpace::device; }
    bool on_device() const noexcept { return memory != MemorySpace::host; } // a kernel may read it
    char* at(int64_t item, int32_t component = 0) const noexcept {
        return data + item * item_stride + component * component_stride;
    }
    /// The same items, one component only.
    ArrayView component(int32_t c) const noexcept {
        return {data + c * component_stride, type, 1, n, item_stride, component_stride, memory, add};
    }
};

/// Throws Error(array) unless every element of the view lies in [data, data + bytes); `name` for the message.
/// Strides may be negative only as far as that holds. Cost O(1).
void check_view(const ArrayView& view, int64_t bytes, const char* name);

} // namespace graft::particles
