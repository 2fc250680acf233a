// SPDX-License-Identifier: BSD-3-Clause
// Boxes for codes that have none: cells of a uniform grid, of one level of a quadtree or octree in Morton
// order (the case of the paper), or the leaves of an adaptive tree; each box's neighbours are itself and the
// boxes that touch it.
//
// Targets and sources share one set of boxes: the cells that hold any of either, in key order. Points are
// sorted by box (stable: by index within a box). The number of threads changes nothing.
// Source: p2p-data-replication, sections 2 and 4.1 (CT, L, t, D); adaptive leaves: the U list of Carrier,
// Greengard, Rokhlin (1988).
#pragma once

#include "backend/radix_sort.hpp"
#include "near/structure.hpp"

namespace graft::near {

struct Points {
    int64_t n = 0;
    const double *x = nullptr, *y = nullptr, *z = nullptr; // n finite values each; z is not read in 2-D
};

enum class Boxes : int32_t {
    grid,  // `cells` along each axis of [lower, upper]
    level, // all cells of one level of the tree: fixed, or the first where no box holds more than `most`
    leaves // cells of the tree, split until none holds more than `most`
};

struct BoxOptions {
    Boxes kind = Boxes::level;
    int32_t dimension = 3;
    int64_t most = 15;            // level, leaves: the paper's clustering threshold CT
    int32_t least_height = 3;     // level: the paper's L to begin with; leaf boxes are at level L - 1
    int32_t height = 0;           // level: this L, whatever the boxes then hold; 0: raised until `most` holds
    bool has_box = false;         // else the smallest cube (square) around all points
    double lower[3] = {0, 0, 0};  // grid: the box; level, leaves: the root is the cube at lower
    double upper[3] = {0, 0, 0};  // with the longest of these edges
    int32_t cells[3] = {1, 1, 1}; // grid
};

/// The paper's words for what was built.
struct BoxReport {
    int32_t height = 0;      // L: levels of the tree, the root's included; 0 for a grid
    int64_t boxes = 0;       // that hold points
    double cells = 0;        // that there are at that level: 4^(L - 1), 8^(L - 1)
    int64_t largest = 0;     // t: targets or sources of the fullest box
    double density = 0;      // D: targets over cells (leaves: over boxes)
    bool too_coarse = false; // even the last level has a box of more than `most`: points coincide
};

/// `sources` NULL: the targets are the sources. Throws Error(argument) for impossible options, Error(value)
/// for a point outside of the given box (the first is named), Error(unsupported) beyond 2^31 - 1 points or
/// 2^62 cells, Error(memory). Cost O(n log n) at worst, O(n) for few key bits, and 27 (9) searches a box.
BoxReport build_boxes(const backend::Executor& executor, const BoxOptions& options, const Points& targets,
                      const Points* sources, OwnedStructure& out);

} // namespace graft::near
