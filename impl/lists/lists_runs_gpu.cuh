// SPDX-License-Identifier: BSD-3-Clause
// Range-encoded lists: entries that stand next to each other as one run (liu2022 section 5, future work).
//
// Leaf lists become runs of consecutive source particles: P2P then reads long stretches and needs no search
// for the leaf of each source. Node lists become runs of consecutive node numbers (siblings that are accepted
// together). Lists are encoded in pieces of 128 entries, each sorted, so runs end at pieces; their order is
// the same every run. Bytes: 8 a run and a closing entry per group, against 4 a list entry.
#pragma once

#include "lists/lists_gpu.cuh"

namespace graft::lists {

/// Enqueues the runs of source particles of this batch's leaf lists. No waiting; allocates on growth only.
/// Cost: per entry 4 B of list and a 32 B node read, 8 B a run written; a sort of 128 numbers in registers
/// per piece. Nothing is written once the computation has stopped.
void encode_runs(backend::Queue& queue, const tree::DeviceTree& tree, const DeviceTargets& targets,
                 const DeviceLists& lists, DeviceRuns& runs);

/// The same of the node lists: `first` is a node number, `before` counts entries of the group's list.
void encode_node_runs(backend::Queue& queue, const tree::DeviceTree& tree, const DeviceTargets& targets,
                      const DeviceLists& lists, DeviceRuns& runs);

/// Enqueues the way back: the items of group g's runs, in order, to items[item_offset[g]...). `item_offset`:
/// where each group of the batch begins, as lists.node_offset for node runs. The caller provides the room.
void decode_runs(backend::Queue& queue, const DeviceTargets& targets, const DeviceLists& lists,
                 const DeviceRuns& runs, const int64_t* item_offset, int32_t* items);

} // namespace graft::lists
