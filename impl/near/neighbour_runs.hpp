// SPDX-License-Identifier: BSD-3-Clause
// Neighbourhoods as runs of consecutive slots: boxes that follow each other in the list and in memory are
// one.
#pragma once

#include "near/near_field.hpp"

namespace graft::near {

/// body(first slot, count) for each run of the neighbourhood of a box, in order.
template <typename Body>
void for_runs(const Structure& structure, int64_t box, Body&& body) {
    int64_t first = 0, end = -1;
    for (int64_t k = structure.neighbour_offset[box]; k < structure.neighbour_offset[box + 1]; ++k) {
        const int64_t begin = structure.source_offset[structure.neighbour[k]];
        const int64_t after = structure.source_offset[structure.neighbour[k] + 1];
        if (begin == after)
            continue;
        if (begin != end) {
            if (end > first)
                body(first, end - first);
            first = begin;
        }
        end = after;
    }
    if (end > first)
        body(first, end - first);
}

} // namespace graft::near
