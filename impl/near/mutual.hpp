// SPDX-License-Identifier: BSD-3-Clause
// Boxes whose pairs may be summed once for both sides: where each of two boxes with lists names the other,
// the one that comes first gives the other its part of the sums (mutual_gpu.cuh).
//
// Boxes with empty lists want no sums, but give theirs: parts of a structure have them around their own boxes
// (structure_parts.hpp). Whether the lists are mutual is a property of the whole; a part of a whole that is, is, too.
#pragma once

#include "near/near_field.hpp"

#include <vector>

namespace graft::near {

/// Of every box the later ones that it has pairs with, ascending.
struct LaterBoxes {
    std::vector<int64_t> offset; // boxes + 1
    std::vector<int32_t> box;

    /// The structure with these as its lists; spans into both.
    Structure instead_of_lists(const Structure& structure) const;
};

/// Whether targets are sources, and every box that a box with a list names has no list or names it in turn.
/// O(boxes + neighbours).
bool has_mutual_lists(const Structure& structure);
/// Of a structure with mutual lists. O(boxes + neighbours).
LaterBoxes later_boxes(const Structure& structure);

/// Whether a GPU sums each pair of boxes once: laplace in single precision with one charge, enough points to
/// fill it, boxes dense enough but with less than 2^20 sources, and lists that are mutual. To be asked of the
/// whole where it is cut into parts, so that their bits are the same. O(boxes + neighbours).
bool sums_pairs_once(const Structure& structure, const Sums& sums, int64_t most_bytes);
/// Bytes of that beside structure and points where lists of such a shape are mutual; 0 where the rest says
/// no.
double bytes_of_pairs_once(const Shape& shape, int64_t most_bytes);

} // namespace graft::near
