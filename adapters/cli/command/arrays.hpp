// SPDX-License-Identifier: BSD-3-Clause
// The ABI's structs around std::vectors.
#pragma once

#include <graft/graft.h>
#include <graft/views.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace graft::cli {

/// A zeroed ABI struct that knows its size.
template <class Struct>
Struct sized() {
    Struct value{};
    value.struct_size = sizeof(Struct);
    return value;
}

template <class T>
constexpr int32_t dtype_of = std::is_same_v<T, double> ? GRAFT_F64
                             : sizeof(T) == 4          ? GRAFT_I32
                                                       : GRAFT_I64;

/// n numbers; read-only where they are const.
template <class T>
graft_array array_of(T* data, std::size_t n) {
    const auto items = static_cast<int64_t>(n);
    if constexpr (std::is_const_v<T>)
        return graft_view_const(data, dtype_of<std::remove_const_t<T>>, items, 1, 0, 0);
    else
        return graft_view(data, dtype_of<T>, items, 1, 0, 0);
}

} // namespace graft::cli
