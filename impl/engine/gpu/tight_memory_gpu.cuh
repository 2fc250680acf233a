// SPDX-License-Identifier: BSD-3-Clause
// Computations whose particles nearly fill the device: arrays whose times of life do not overlap share
// memory, and a repeat for longer lists goes on behind the tree. What of that is whose: tight_memory.hpp.
//
// The particles' columns become the tree's while it lives; keys are sorted, and columns moved, in the
// field's memory, which nothing has written yet. What imports or repairs takes the columns back first.
#pragma once

#include "engine/gpu/steps_gpu.cuh"

namespace graft::engine {

/// Whether the tree of this job is to be built in the particles' memory: where they do not fit otherwise, or
/// are many.
bool wants_tree_in_place(const Computation& c);
/// Leaves of such a tree.
void choose_leaf_in_place(Computation& c);
/// What a repeat begins with, after a computation that stopped: the lists, where only their room was too small.
void choose_resume(Steps& s, const backend::DeviceStatus& status);

} // namespace graft::engine
