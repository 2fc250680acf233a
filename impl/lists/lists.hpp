// SPDX-License-Identifier: BSD-3-Clause
// Interaction lists: for every group of targets the nodes and the leaves that act on it.
//
// CSR: group g meets nodes[node_offset[g] ... node_offset[g + 1]) as expansions (M2P) and all particles of
// the nodes leaves[leaf_offset[g] ... leaf_offset[g + 1]) one by one (P2P). Together they hold every particle
// of the tree exactly once. `leaves` may name inner nodes: P2P is cheaper than an expansion where few
// particles are below. A walk opens a node for a target unless it is accepted (criterion.hpp); children are
// looked at in order, all terminal entries of a node before those of its descendants. Every kind of walk
// gives the same lists, bit for bit. Source: gaburov2010 section 3.2.2 and list 3.1 (two passes: count, scan,
// fill; separate node and leaf lists), liu2022 (the transposed walk: a source node meets all targets that
// have opened its parent).
#pragma once

#include "backend/executor.hpp"
#include "core/buffer.hpp"
#include "lists/criterion.hpp"
#include "lists/targets.hpp"

#include <cstdint>

namespace graft::lists {

struct InteractionLists {
    explicit InteractionLists(core::Memory& memory)
        : node_offset(memory, "node list offsets"), leaf_offset(memory, "leaf list offsets"),
          nodes(memory, "node lists"), leaves(memory, "leaf lists") {}
    core::Buffer<int64_t> node_offset, leaf_offset; // groups + 1
    core::Buffer<int32_t> nodes, leaves;            // node indices
    int64_t group_count() const { return node_offset.size() > 0 ? node_offset.size() - 1 : 0; }
};

enum class WalkKind : int32_t {
    two_pass = 0,   // count, scan, then walk again and fill
    transposed = 1, // the same, each source node against a block of groups
};

class ListBuilder {
  public:
    explicit ListBuilder(core::Memory& memory)
        : stacks_(memory, "walk stacks"), node_sums_(memory, "scan of node lists"),
          leaf_sums_(memory, "scan of leaf lists") {}

    /// Lists of groups[0 ... count): offsets start at 0, so a caller may build them batch by batch. The
    /// criterion must have been filled for this tree. Throws Error(memory). Cost O(list entries).
    void build(const backend::Executor& executor, const tree::Tree& tree, const Criterion& criterion,
               const Group* groups, int64_t count, WalkKind kind, InteractionLists& lists);

  private:
    void scan(const backend::Executor& executor, int64_t count, InteractionLists& lists);

    core::Buffer<int32_t> stacks_; // per thread
    core::Buffer<int64_t> node_sums_, leaf_sums_;
};

} // namespace graft::lists
