// The ABI's structs around std::vectors.
#pragma once

#include <graft/graft.h>

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

template <class T>
graft_array array_of(const T* data, std::size_t n) {
    graft_array array = sized<graft_array>();
    array.data = const_cast<T*>(data); // inputs are only read; the struct serves inputs and outputs
    array.dtype = dtype_of<T>;
    array.memory = GRAFT_MEMORY_HOST;
    array.components = 1;
    array.n = static_cast<int64_t>(n);
    array.bytes = static_cast<int64_t>(n * sizeof(T));
    return array;
}

} // namespace graft::cli
