// SPDX-License-Identifier: BSD-3-Clause
// The tree that every later room reads: one node interface, built by the octree and by the ORB (k-d) builder
// alike.
//
// Invariants: node 0 is the root (of a range of keys: level 0 are the roots, in key order); nodes stand in
// level order, level l is [level_offset[l], level_offset[l+1]); the children of a node are contiguous; only
// nodes with particles exist (an empty tree has no nodes); a node's particles are the contiguous range
// [first, first + count) of the tree order; boxes are tight (smallest box of the particles). No node has
// exactly one child. A leaf holds more than N_leaf particles only when they all coincide (is_point). Sources:
// gaburov2010 section 3.2.1 (leaves of at most N_leaf, tight boxes); rehmann2022 section 3.3 (ORB, derived
// anew: eq. 4 and 6 are misprinted there).
#pragma once

#include "core/buffer.hpp"
#include "geometry/box.hpp"

#include <cstdint>

namespace graft::tree {

enum class TreeType : int32_t { octree = 0, orb = 1 };

struct TreeOptions {
    TreeType type = TreeType::octree;
    int dimension = 3;     // 2 or 3
    int leaf = 32;         // N_leaf: most particles in a leaf, unless they all coincide
    bool has_root = false; // the caller gives the root cube (octree only)
    double root_lower[3] = {0, 0, 0};
    double root_edge = 0;
    bool root_of_most = false; // a GPU: particles outside the given cube have the keys of its nearest cells
    // The particles are those of a range of keys of the given root cube: the tree becomes a forest whose
    // roots are the largest key cells inside the range, as they stand in the tree of all particles.
    bool has_range = false;
    uint64_t key_begin = 0, key_end = 0;
    // Particles, of all ranks, in the cell of each level that key_begin or key_end cuts in two; NULL: not
    // known.
    const int64_t* cut_by_begin = nullptr;
    const int64_t* cut_by_end = nullptr;
    // Octree on the host: thuering2023's way, a top tree of top_depth levels, then its subtrees in parallel,
    // a thread each. The same tree, bit for bit.
    bool two_phase = false;
    int top_depth = 7;
};

struct Node {
    int32_t first_child; // index of the first child; 0 for a leaf
    int32_t child_count; // 0 for a leaf
    int32_t parent;      // -1 for the root
    int32_t level;
    int64_t first; // in tree order
    int64_t count;
};

struct Tree {
    explicit Tree(core::Memory& memory)
        : nodes(memory, "tree nodes"), boxes(memory, "tree boxes"), edges(memory, "tree cell edges"),
          keys(memory, "tree keys"), root_keys(memory, "root cells"), root_levels(memory, "root levels"),
          root_parents(memory, "particles around roots"), level_offset(memory, "tree levels"),
          order(memory, "tree order"), x(memory, "sorted x"), y(memory, "sorted y"), z(memory, "sorted z"),
          charge(memory, "sorted charges"), softening(memory, "sorted softening") {}

    TreeOptions options;
    double root_lower[3] = {0, 0, 0}; // octree: the root cube
    double root_edge = 0;
    core::Buffer<Node> nodes;
    core::Buffer<geometry::Box> boxes; // tight box per node
    core::Buffer<double>
        edges; // octree: edge of the smallest key cell that holds the node; ORB: longest box edge
    core::Buffer<uint64_t>
        keys; // octree: Morton keys in tree order, each in the frame of its leaf; ORB: empty
    core::Buffer<uint64_t> root_keys;  // a range of keys: first key of each root's cell; else empty
    core::Buffer<int32_t> root_levels; // and the cell's level
    core::Buffer<int64_t>
        root_parents; // and particles, of all ranks, in the next larger cell; empty: not known
    core::Buffer<int32_t> level_offset;   // levels + 1 entries
    core::Buffer<int32_t> order;          // tree position -> host index
    core::Buffer<double> x, y, z, charge; // particles in tree order
    core::Buffer<double> softening;       // per particle, tree order; empty = one length for all

    int64_t particle_count() const { return order.size(); }
    int32_t root_count() const { return levels() > 0 ? level_offset[1] : 0; }
    int32_t node_count() const { return static_cast<int32_t>(nodes.size()); }
    int levels() const { return level_offset.size() > 0 ? static_cast<int>(level_offset.size()) - 1 : 0; }
    bool is_leaf(int32_t node) const { return nodes[node].child_count == 0; }
    /// All particles of the node are at one place.
    bool is_point(int32_t node) const { return boxes[node].longest_edge() == 0; }
};

} // namespace graft::tree
