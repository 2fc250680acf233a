// SPDX-License-Identifier: BSD-3-Clause
// A look at a near field's sums before they come to the caller: the first that would be no finite number.
#pragma once

#include "backend/queue_gpu.cuh"
#include "near/near_field.hpp"
#include "particles/array_view_gpu.cuh"

namespace graft::near {

/// What a look has found, on the device. All bits set to begin with.
struct LookedSums {
    unsigned long long first; // field << 40 | place of the first bad one; all bits set: none
    double value;             // what it would be
    unsigned int blocks;      // that are through, and one less
    GRAFT_HD bool any() const noexcept { return first != ~0ull; }
    int32_t field() const noexcept { return static_cast<int32_t>(first >> 40); }
    int64_t place() const noexcept { return static_cast<int64_t>(first & ((1ull << 40) - 1)); }
};

/// One field: sums times `units` over *scale (NULL: 1), as they come to `to`, which they are added to or not.
template <typename T>
struct LookedField {
    const T* sums; // NULL: not wanted
    double units;
    const double* scale;
    particles::DeviceView to;
    bool add;
};
template <typename T>
struct LookedFields {
    LookedField<T> field[4 * most_components];
};

/// Sums at places[k] (NULL: k), k < n; that of place p goes to item numbers[p] (NULL: p). Enqueued.
template <typename T>
void look_at_sums(backend::Queue& queue, const LookedFields<T>& fields, int32_t count, const int32_t* places,
                  const int32_t* numbers, int64_t n, LookedSums* found);

} // namespace graft::near
