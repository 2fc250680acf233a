// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic of the left-filled nearly complete binary tree with d leaves, stored as a heap.
//
// Cell 1 is the root, cell k has children 2 k and 2 k + 1, cells d ... 2 d - 1 are the leaves, 2 d - 1 cells
// in all. Leaves are numbered from the left, 0 ... d - 1: first those of the bottom level, then those one
// level above. Source: rehmann2022 section 3.3 (equations 1-7, derived anew: 4 is wrong at d = 2) and 5.3.
#pragma once

#include "core/host_device.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace graft::decompose {

/// std::bit_width; in device code nvcc 13.0 makes 0 of it (and of the other 64-bit counts of <bit>).
GRAFT_HD constexpr int bits_of(uint64_t value) {
#ifdef __CUDA_ARCH__
    return 64 - __clzll(static_cast<long long>(value));
#else
    return std::bit_width(value);
#endif
}
/// Levels below the root: 0 for one leaf.
GRAFT_HD constexpr int tree_depth(int64_t leaves) {
    return bits_of(static_cast<uint64_t>(leaves) - 1);
}
/// Leaves under the left child of a cell with `leaves` >= 2 of them.
GRAFT_HD constexpr int64_t leaves_left(int64_t leaves) {
    const int64_t bottom = int64_t{1} << tree_depth(leaves);
    return leaves - bottom / 4 < bottom / 2 ? leaves - bottom / 4 : bottom / 2;
}
/// Leaves on the bottom level of a tree of `leaves`.
GRAFT_HD constexpr int64_t bottom_leaves(int64_t leaves) {
    return 2 * leaves - (int64_t{1} << tree_depth(leaves));
}
constexpr bool is_leaf(int64_t cell, int64_t leaves) {
    return cell >= leaves;
}
/// Heap index of leaf number `leaf`.
constexpr int64_t cell_of_leaf(int64_t leaf, int64_t leaves) {
    const int64_t bottom = bottom_leaves(leaves), width = int64_t{1} << tree_depth(leaves);
    return leaf < bottom ? width + leaf : width / 2 + leaf - bottom / 2;
}
/// Number of the leaf that cell `cell` >= leaves is.
constexpr int64_t leaf_of_cell(int64_t cell, int64_t leaves) {
    const int64_t bottom = bottom_leaves(leaves), width = int64_t{1} << tree_depth(leaves);
    return cell >= width ? cell - width : cell - width / 2 + bottom / 2;
}
/// The leaf furthest left under a cell.
constexpr int64_t first_leaf(int64_t cell, int64_t leaves) {
    while (!is_leaf(cell, leaves))
        cell *= 2;
    return leaf_of_cell(cell, leaves);
}

} // namespace graft::decompose
