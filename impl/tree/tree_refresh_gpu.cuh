// SPDX-License-Identifier: BSD-3-Clause
// A tree that keeps its nodes while particles move.
#pragma once

#include "tree/tree_gpu.cuh"

namespace graft::tree {

/// Enqueues the particles' new places and charges into a tree that keeps its nodes and order, and tight boxes of
/// all nodes; cell edges and keys stay those of the build. `levels`: those of the tree, which the host has learnt
/// from its build. No waiting, no allocation. tree.options.leaf becomes the largest number there is: large leaves
/// are no heaps of equal points any more, and are summed particle by particle.
void refresh_tree(backend::Queue& queue, const DeviceParticleView& particles, int levels, DeviceTree& tree);

} // namespace graft::tree
