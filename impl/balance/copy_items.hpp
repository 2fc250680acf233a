// SPDX-License-Identifier: BSD-3-Clause
// Copies items between a strided array and packed records, gathering or scattering by an index.
//
// A packed record of a field holds the components of one item without gaps, whatever the layout of the host's
// array, so both ends of a message may have layouts of their own.
#pragma once

#include "backend/executor.hpp"
#include "particles/array_view.hpp"

#include <cstdint>

namespace graft::balance {

/// One end of a copy: item k stands at data + index[k] * item_stride (index NULL: k itself).
struct Strided {
    char* data = nullptr;
    int64_t item_stride = 0, component_stride = 0;
    const int32_t* index = nullptr; // ascending
};

/// Bytes of one item's components without gaps.
int64_t packed_bytes(const particles::ArrayView& view) noexcept;
/// The view from item `first` on, or all of it through an index.
Strided items_of(const particles::ArrayView& view, int64_t first) noexcept;
Strided items_of(const particles::ArrayView& view, const int32_t* index) noexcept;
/// Records of `view`'s type, one after another.
Strided packed(char* data, const particles::ArrayView& view) noexcept;

/// to[k] = from[k] for k < n, all components; type and components as `shape` has them. At most one end has an
/// index. Memory-bound: runs of neighbouring items without gaps are one memcpy. Threads.
void copy_items(const backend::Executor& executor, const particles::ArrayView& shape, const Strided& from,
                const Strided& to, int64_t n);

} // namespace graft::balance
