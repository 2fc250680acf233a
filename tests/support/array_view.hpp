// SPDX-License-Identifier: BSD-3-Clause
// A host's array of doubles as the library sees it.
#pragma once

#include "particles/array_view.hpp"

#include <vector>

namespace support {

inline graft::particles::ArrayView view(std::vector<double>& v) {
    const auto n = static_cast<int64_t>(v.size());
    return {reinterpret_cast<char*>(v.data()), graft::particles::ElementType::f64, 1, n, 8, 8};
}

} // namespace support
