// SPDX-License-Identifier: BSD-3-Clause
// The device's tree for particles that nearly fill the device: the same tree, bit for bit, made within memory
// that the caller lends, so that a particle takes 24 B beside its own 32 B, and not 108 B
// (docs/lab/gpu/engine.md).
//
// Keys are sorted between two lent columns; the sorted coordinates then move into the next free column one by
// one: the column that x was in takes y, and so on. Afterwards the tree's arrays are what `own` was, and
// `own` is empty until give_back(). tree.keys stays empty: groups_gpu.cu needs no keys where leaves are no
// larger than groups.
#pragma once

#include "tree/tree_gpu.cuh"

namespace graft::tree {

struct DeviceColumns {
    backend::DeviceBuffer<double>* own[4];  // x, y, z, charge, in host order
    backend::DeviceBuffer<double>* lent[3]; // as long; contents undefined before and after
};

class DeviceTreeInPlace {
  public:
    explicit DeviceTreeInPlace(backend::DeviceMemory& memory);
    ~DeviceTreeInPlace();
    DeviceTreeInPlace(const DeviceTreeInPlace&) = delete;
    DeviceTreeInPlace& operator=(const DeviceTreeInPlace&) = delete;

    /// Enqueues the fused construction in three dimensions, of particles with charges and one softening
    /// length. No waiting, no allocation when sizes have been seen; status words as DeviceTreeBuilder::build.
    /// The queue must not have stopped when it comes to the columns: with bad_value they stay in host order.
    void build(backend::Queue& queue, const TreeOptions& options, const DeviceColumns& columns,
               DeviceTree& tree);

    /// Whether the tree has the columns now.
    bool holds() const { return holds_; }
    /// The columns are `own` again; with_contents: enqueues their way back to host order, else contents are
    /// undefined (after bad_value: as they were). `lent` may have been written in between.
    void give_back(backend::Queue& queue, const DeviceColumns& columns, DeviceTree& tree, bool with_contents);

  private:
    DeviceTreeBuilder::Work* work_;
    bool holds_ = false;
};

/// Nodes that most distributions need, with little to spare: 4.2 n / leaf (3.4 leaves where cells of all
/// sizes are as likely, and the nodes above them).
int64_t likely_nodes_within(int64_t n, int leaf);

} // namespace graft::tree
