// SPDX-License-Identifier: BSD-3-Clause
// The steps of TreeBuilder that its files share; not for other rooms.
#pragma once

#include "tree/build.hpp"

namespace graft::tree::detail {

/// Extents below this count as zero: 2^31 / edge must be finite for keys, and no physics lives there.
inline constexpr double smallest_edge = 1e-290;

/// Box of n host particles (empty for n = 0).
geometry::Box bounding_box(const backend::Executor& executor, const ParticleView& particles,
                           core::Buffer<geometry::Box>& partial);

/// Root cube, keys, sort: fills tree.root_*, tree.keys and tree.order.
void sort_by_key(const backend::Executor& executor, const ParticleView& particles, const geometry::Box& box,
                 Workspace& work, Tree& tree);

/// Octree nodes from sorted keys and gathered particles: nodes, edges, level_offset.
void split_cells(const backend::Executor& executor, Workspace& work, Tree& tree, BuildTimes& times);

inline constexpr int most_children = 8;

/// The smallest key cell of a node (`edge`, of the cell of level `base_level` before, becomes that cell's,
/// `base_level` its level; a second call changes nothing), and where its particles part: cells + 1 offsets.
/// Returns the number of children, 0 for a leaf.
int32_t split_node(const Tree& tree, const Node& node, double& edge, int32_t& base_level, int32_t* split);

/// The children of a node that parts as `split` says, written from `child` on.
void make_children(const Node& parent, int32_t parent_index, int cells, const int32_t* split, Node* child);

/// thuering2023's second phase: everything below nodes [begin, end), the last level there is, a subtree a
/// task; level_offset from that level on but for its end. False, and the tree is as it was, where a cell is
/// too deep for its keys.
bool grow_subtrees(const backend::Executor& executor, int32_t begin, int32_t end, Workspace& work,
                   Tree& tree);

/// New keys for nodes [begin, end) whose particles share one key but not one place; sorts them and their
/// particles.
void key_again(const backend::Executor& executor, int32_t begin, int32_t end, Workspace& work, Tree& tree);

/// ORB: partitions the particles: fills tree.order.
void sort_by_bisection(const backend::Executor& executor, const ParticleView& particles, Workspace& work,
                       Tree& tree);

/// ORB: nodes, level_offset from the gathered particles.
void split_bisections(const backend::Executor& executor, Workspace& work, Tree& tree);

/// Tight boxes of all nodes: leaves from particles, the others from their children.
void bound_nodes(const backend::Executor& executor, Tree& tree);

/// Leaves of the left child of a node that becomes `leaves` >= 2 leaves, in the nearly complete tree filled
/// from the left (rehmann2022 eq. 4, derived anew: with h = ceil(log2 leaves) the left child gets
/// min(leaves - 2^h/4, 2^h/2)).
int64_t left_leaves(int64_t leaves);

/// Particles of that left child: count * left / leaves, rounded to the nearest.
int64_t left_count(int64_t count, int64_t left, int64_t leaves);

} // namespace graft::tree::detail
