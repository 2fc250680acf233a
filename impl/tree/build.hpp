// SPDX-License-Identifier: BSD-3-Clause
// From particles in host order to a Tree: sorted particles and nodes with tight boxes.
//
// One class for both tree types. The workspace lives as long as the builder: a second build of the same size
// allocates nothing. The result is the same bits for any number of threads.
#pragma once

#include "backend/executor.hpp"
#include "backend/radix_sort.hpp"
#include "tree/tree.hpp"

#include <cstdint>
#include <vector>

namespace graft::tree {

/// Where the time of one build went.
struct BuildTimes {
    double sort_s = 0;                // keys, sort, gather of the particles (ORB: partitioning and gather)
    double tree_s = 0;                // nodes and boxes
    double top_s = 0, subtrees_s = 0; // of tree_s: the two phases (TreeOptions::two_phase)
};

/// Particles in host order: n values each, contiguous, finite. z may be null (zero) and is not read in
/// two dimensions; charge and softening may be null (their sorted arrays are then empty). Read during build()
/// only.
struct ParticleView {
    int64_t n = 0;
    const double* x = nullptr;
    const double* y = nullptr;
    const double* z = nullptr;
    const double* charge = nullptr;
    const double* softening = nullptr;
};

/// Working memory of the node builders (internal to this room).
struct Workspace {
    explicit Workspace(core::Memory& memory)
        : sorter(memory), block_boxes(memory, "block boxes"), block_sums(memory, "scan of children"),
          base_levels(memory, "key levels"), splits(memory, "cell splits"),
          child_counts(memory, "child counts"), points(memory, "points to sort"),
          keyed(memory, "keys to sort"), copy(memory, "permuted values"),
          cell_keys(memory, "keys of a large cell"), cell_places(memory, "places of a large cell"),
          marks(memory, "nodes to key again"), parts(memory, "subtrees"),
          stretches(memory, "levels of subtrees") {}

    struct Point { // ORB: a particle on its way to its leaf
        double position[3];
        int64_t index;
    };
    struct Keyed { // a particle of a cell that needs new keys
        uint64_t key;
        int64_t place;
    };
    /// two_phase: a level of a subtree, arena.nodes[first, first + count); its place in the tree.
    struct Stretch {
        int32_t subtree, level, first, count, place;
    };
    /// two_phase: the subtrees that one thread made, one behind the other; indices are the arena's own, but
    /// for the parents of a subtree's first stretch.
    struct Arena {
        explicit Arena(core::Memory& memory)
            : nodes(memory, "subtree nodes"), edges(memory, "subtree edges"),
              base_levels(memory, "subtree levels"), stretches(memory, "levels of subtrees") {}
        core::Buffer<Node> nodes;
        core::Buffer<double> edges;
        core::Buffer<int32_t> base_levels;
        core::Buffer<Stretch> stretches; // those of one subtree next to each other, by level
    };
    struct InOrder { // a stretch of all, by level and subtree
        int32_t level, subtree, arena, stretch;
    };
    struct Part { // ORB: particles [first, first + count) that become `leaves` leaves
        int64_t first, count, leaves;
    };

    backend::RadixSorter sorter;
    core::Buffer<geometry::Box> block_boxes;
    core::Buffer<int32_t> block_sums;
    core::Buffer<int32_t> base_levels; // per node: key level that edges[node] belongs to, or done_level
    core::Buffer<int32_t> splits;      // per node of the level: 8 + 1 offsets of its key cells
    core::Buffer<int32_t> child_counts;
    core::Buffer<Point> points;
    core::Buffer<Keyed> keyed;
    core::Buffer<char> copy;
    core::Buffer<uint64_t> cell_keys;
    core::Buffer<int32_t> cell_places;
    core::Buffer<int32_t> marks;
    core::Buffer<Part> parts;
    std::vector<Arena> arenas; // by thread
    core::Buffer<InOrder> stretches;
};

class TreeBuilder {
  public:
    explicit TreeBuilder(core::Memory& memory) : work_(memory) {}

    /// Builds `tree` anew. Throws Error: argument (leaf < 1, dimension not 2 or 3, bad root cube, n < 0),
    /// unsupported (n >= 2^31, the width of Tree::order; a root cube for ORB), value (a particle outside a
    /// given root: the first one is named; coordinates that span more than 1e150, whose squared distances
    /// leave double), memory. A second build of the same size allocates nothing (two_phase: arenas may grow,
    /// as which thread makes which subtree is chance). Cost O(n) for the octree (radix sort), O(n log n) for
    /// ORB.
    void build(const backend::Executor& executor, const TreeOptions& options, const ParticleView& particles,
               Tree& tree, BuildTimes& times);

    void build(const backend::Executor& executor, const TreeOptions& options, int64_t n, const double* x,
               const double* y, const double* z, const double* charge, const double* softening, Tree& tree,
               BuildTimes& times) {
        build(executor, options, ParticleView{n, x, y, z, charge, softening}, tree, times);
    }

  private:
    Workspace work_;
};

} // namespace graft::tree
