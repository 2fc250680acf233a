// SPDX-License-Identifier: BSD-3-Clause
// Node lists split in two on the device: near cells, which meet targets one by one, and far ones, which become
// one polynomial of the group (far_cells.hpp: the same choice as the CPU's, cell by cell).
//
// The lists themselves stay as they are, so that they can be kept over steps; the split is a second array of
// the same offsets: near entries of a group in the list's order from its offset on, far ones behind them (in
// the opposite order). The same every run. Lists that nobody keeps are split while they are built
// (DeviceFarChoice::split).
#pragma once

#include "backend/queue_gpu.cuh"
#include "lists/lists_gpu.cuh"
#include "moments/moments_gpu.cuh"
#include "tree/tree_gpu.cuh"

namespace graft::lists {

/// What the split reads of a node: one sector of 32 B.
struct alignas(32) DeviceFarNode {
    double x, y, z, magnitude;
};

struct DeviceFarLists {
    explicit DeviceFarLists(backend::DeviceMemory& memory)
        : nodes(memory, "cells for the far test"), entries(memory, "near and far cells"),
          near_count(memory, "near cells of groups") {}
    backend::DeviceBuffer<DeviceFarNode> nodes; // node capacity: does not depend on batches
    backend::DeviceBuffer<int32_t> entries;     // as DeviceLists::nodes
    backend::DeviceBuffer<int32_t> near_count;  // a group of the batch
};

/// far.nodes, which are large enough, of all nodes; enqueued. split_far() does it for itself.
void pack_far_nodes(backend::Queue& queue, const tree::DeviceTree& tree,
                    const moments::DeviceMoments& moments, DeviceFarLists& far);

/// Enqueued, on buffers that are large enough: near_count of the batch's groups, and entries. `order` of the
/// cells, `degree` of the polynomials; the groups' factors are the error criterion's. Bytes: 32 a node, then
/// 4 + 32 read and 4 written an entry; about 50 slots a lane and 32 entries.
void split_far(backend::Queue& queue, const tree::DeviceTree& tree, const moments::DeviceMoments& moments,
               const DeviceTargets& targets, const DeviceLists& lists, int order, int degree,
               DeviceFarLists& far);

} // namespace graft::lists
