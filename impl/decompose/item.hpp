// SPDX-License-Identifier: BSD-3-Clause
// Points on their way between ranks, as recursive halving carries them.
//
// Both sorts have a place on a line: the ordered image of a coordinate, or a key; ties go by id.
#pragma once

#include "decompose/ordering.hpp"

#include <cstdint>

namespace graft::decompose {

/// A cut in images: left of it are smaller images, and at `image` itself the ids below `tie`.
struct Border {
    uint64_t image = 0;
    int64_t tie = lowest_id;
};

struct Item {
    double x[3];     // in two dimensions x[2] = 0
    uint64_t weight; // WeightRule's
    int64_t id;      // the host's, or implied_id()

    uint64_t image(int axis) const { return ordered_image(x[axis]); }
};
static_assert(sizeof(Item) == 40);

struct KeyItem {
    uint64_t key; // along the space-filling curve
    uint64_t weight;
    int64_t id;

    uint64_t image(int) const { return key; }
};
static_assert(sizeof(KeyItem) == 24);

template <typename AnyItem>
bool is_left(const Border& border, const AnyItem& item, int axis) {
    const uint64_t image = item.image(axis);
    return image < border.image || (image == border.image && item.id < border.tie);
}

inline Cut to_cut(const Border& border) {
    return {from_ordered_image(border.image) + 0.0, border.tie};
}

} // namespace graft::decompose
