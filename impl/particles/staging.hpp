// SPDX-License-Identifier: BSD-3-Clause
// Between strided host arrays and contiguous page-locked memory, by host threads: the host's end of what
// travels to and from a device.
#pragma once

#include "backend/executor.hpp"
#include "particles/array_view.hpp"

namespace graft::particles {

/// Elements [first, first + count) of the view, as they are, to out.
struct PackItem {
    ArrayView view;
    char* out;
};
/// Block by block for up to a handful of arrays, so that a struct's memory is read once.
void pack(const backend::Executor& executor, int views, const PackItem* items, int64_t first, int64_t count);

/// view[index[k]] (=|+=) value k of `from` (F32 or F64); index NULL: first + k; added where view.add. F32 values are for
/// F32 views and are not added.
void unpack(const backend::Executor& executor, const char* from, ElementType type, const int32_t* index,
            int64_t first, int64_t count, const ArrayView& view);

} // namespace graft::particles
