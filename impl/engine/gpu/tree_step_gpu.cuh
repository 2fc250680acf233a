// SPDX-License-Identifier: BSD-3-Clause
// Tree and moments on the device: built beside the particles, in their memory, or as they were when lists were
// kept; or taken from the host.
#pragma once

#include "engine/import_inputs_gpu.cuh"
#include "moments/moments_gpu.cuh"
#include "tree/build_in_place_gpu.cuh"
#include "tree/tree_gpu.cuh"

namespace graft::engine {

/// Tree and targets in numbers.
struct TreeCounts {
    int64_t nodes = 0, leaves = 0, levels = 0, groups = 0;
};

class TreeStep {
  public:
    explicit TreeStep(backend::DeviceMemory& memory)
        : tree(memory), moments(memory), builder_(memory), in_place_(memory) {}

    // Enqueued, each.
    void build(Computation& c, const ImportStep& from);
    /// Columns: the particles' and the field's, which the tree takes until they are given back.
    void build_in_place(Computation& c, const tree::DeviceColumns& columns);
    /// In place of building: the kept tree with moved particles.
    void refresh(Computation& c, const ImportStep& from, int64_t levels);
    void sum_moments(Computation& c);
    /// What M2P and M2L read of the moments.
    void fill_expansion(Computation& c);
    void give_back(Computation& c, const tree::DeviceColumns& columns, bool with_contents);
    bool has_columns() const { return in_place_.holds(); }

    tree::DeviceTree tree;
    moments::DeviceMoments moments;
    TreeCounts known; // TreeFrom::host

  private:
    tree::DeviceTreeBuilder builder_;
    tree::DeviceTreeInPlace in_place_;
};

} // namespace graft::engine
