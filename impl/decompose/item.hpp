// A point on its way between ranks, as recursive halving carries it.
#pragma once

#include "decompose/ordering.hpp"

#include <cstdint>

namespace graft::decompose {

struct Item {
    double x[3];     // in two dimensions x[2] = 0
    uint64_t weight; // WeightRule's
    int64_t id;      // the host's, or implied_id()

    Place place(int axis) const { return {x[axis], id}; }
};
static_assert(sizeof(Item) == 40);

} // namespace graft::decompose
