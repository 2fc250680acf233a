// SPDX-License-Identifier: BSD-3-Clause
// A vector of integers as a near field's offsets, lists or indices.
#pragma once

#include "near/boxes.hpp"

#include <vector>

namespace graft::test {

/// Of the vector's memory; indices count from `base`.
template <typename T>
near::Integers integers(const std::vector<T>& values, const char* name, int64_t base = 0) {
    near::Integers i;
    i.view.data = const_cast<char*>(reinterpret_cast<const char*>(values.data()));
    i.view.type = sizeof(T) == 4 ? particles::ElementType::i32 : particles::ElementType::i64;
    i.view.n = static_cast<int64_t>(values.size());
    i.view.item_stride = i.view.component_stride = sizeof(T);
    i.base = base;
    i.name = name;
    i.given = true;
    return i;
}

} // namespace graft::test
