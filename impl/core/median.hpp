// SPDX-License-Identifier: BSD-3-Clause
// The median, of times mostly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace graft::core {

/// 0 of nothing.
inline double median(std::vector<double> values) {
    if (values.empty())
        return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1)
        return *middle;
    return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

} // namespace graft::core
