// SPDX-License-Identifier: BSD-3-Clause
// A structure cut into parts that several devices sum at the same time: each its own targets, and the sources
// that they need.
//
// A part is a structure of its own over points of its own: first the targets whose sums are its own, then
// others that it needs, both in the caller's order, so that both ends of what travels walk through memory in
// one direction. `target` and `source` say which of the caller's they are. Where the targets are the sources,
// the boxes that a part's own ones need stand in it as target boxes with empty lists. Invariants: the parts'
// own targets are all targets, each once; a box has the same sources in the same order and the same runs of
// consecutive ones as in the whole, so that its sums have the same bits. For that one point stands where
// others were left out between two boxes.
#pragma once

#include "near/near_field.hpp"

#include <vector>

namespace graft::near {

/// Which of the caller's points a part has; the first `own` targets are those whose sums are its own.
/// sources: empty where the targets are the sources. The arrays are the part's.
struct PartPoints {
    std::span<const int64_t> targets, sources;
    int64_t own = 0;
};

struct StructurePart {
    std::vector<int64_t> target_offset, source_offset, neighbour_offset;
    std::vector<int32_t> neighbour;
    std::vector<int64_t> target_index, source_index; // of a slot: its place in `target`, `source`
    std::vector<int64_t> target, source;             // as PartPoints
    int64_t own = 0;
    double pairs = 0;
    bool same = false;

    /// Spans into this object.
    Structure view() const;
    PartPoints points() const { return {target, source, own}; }
    const std::vector<int64_t>& sources() const { return same ? target : source; }
    int64_t bytes() const;
};

/// `parts` >= 1 of as many pairs as can be with whole boxes; some are empty where there are fewer boxes.
/// Cost: O(boxes + neighbours + parts x points).
std::vector<StructurePart> cut_structure(const Structure& all, int32_t parts);

} // namespace graft::near
