// SPDX-License-Identifier: BSD-3-Clause
// Items of a caller's array on the device, at any stride and address: hosts may pack records, and a GPU reads
// numbers at multiples of their size only, others byte by byte. An access of another kind is an error that
// ends the host's CUDA context.
#pragma once

#include "particles/array_view.hpp"

#include <cstdint>

namespace graft::particles {

/// One component of an array as kernels see it; `aligned`: all items are at multiples of their size.
struct DeviceView {
    char* data;
    int64_t item_stride;
    int32_t size; // of an element
    bool real, aligned;
};

inline DeviceView device_view(const ArrayView& view) {
    const int32_t size = static_cast<int32_t>(element_size(view.type));
    const bool aligned = (reinterpret_cast<uintptr_t>(view.data) | static_cast<uintptr_t>(view.item_stride)) %
                             static_cast<uintptr_t>(size) ==
                         0;
    return {view.data, view.item_stride, size, view.type == ElementType::f32 || view.type == ElementType::f64,
            aligned};
}

template <typename T>
__device__ inline T load(const DeviceView& view, int64_t item) {
    const char* address = view.data + item * view.item_stride;
    if (view.aligned)
        return *reinterpret_cast<const T*>(address);
    T value;
    for (int b = 0; b < static_cast<int>(sizeof(T)); ++b)
        reinterpret_cast<char*>(&value)[b] = address[b];
    return value;
}

template <typename T>
__device__ inline void store(const DeviceView& view, int64_t item, T value) {
    char* address = view.data + item * view.item_stride;
    if (view.aligned) {
        *reinterpret_cast<T*>(address) = value;
        return;
    }
    for (int b = 0; b < static_cast<int>(sizeof(T)); ++b)
        address[b] = reinterpret_cast<const char*>(&value)[b];
}

__device__ inline double load_real(const DeviceView& view, int64_t item) {
    return view.size == 4 ? static_cast<double>(load<float>(view, item)) : load<double>(view, item);
}

__device__ inline int64_t load_integer(const DeviceView& view, int64_t item) {
    return view.size == 4 ? static_cast<int64_t>(load<int32_t>(view, item)) : load<int64_t>(view, item);
}

} // namespace graft::particles
