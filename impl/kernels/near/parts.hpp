// A structure cut into parts that several devices sum at the same time: each its own targets, and the sources
// that they need.
//
// A part is a structure of its own over points of its own, numbered in the order of its boxes; `target` and
// `source` say which of the caller's points they are. Where the targets are the sources, the boxes that a
// part's own ones need stand in it as target boxes with empty lists: sums of points outside [own_begin,
// own_end) mean nothing. Invariants: the parts' own targets are all targets, each once, in order; a box has
// the same sources in the same order and the same runs of consecutive ones as in the whole, so that its sums
// have the same bits. For that one point stands where others were left out between two boxes.
#pragma once

#include "kernels/near/near.hpp"

#include <vector>

namespace graft::kernels::near {

struct StructurePart {
    std::vector<int64_t> target_offset, source_offset, neighbour_offset;
    std::vector<int32_t> neighbour;
    std::vector<int64_t> target, source; // the caller's numbers; source is empty where the same
    int64_t own_begin = 0, own_end = 0;  // of `target`
    double pairs = 0;
    bool same = false;

    /// Spans into this object.
    Structure view() const;
    const std::vector<int64_t>& sources() const { return same ? target : source; }
    int64_t bytes() const;
};

/// `parts` >= 1 of as many pairs as can be with whole boxes; some are empty where there are fewer boxes.
/// Cost: O(boxes + points + neighbours).
std::vector<StructurePart> cut_structure(const Structure& all, int32_t parts);

} // namespace graft::kernels::near
