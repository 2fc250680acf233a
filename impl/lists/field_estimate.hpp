// SPDX-License-Identifier: BSD-3-Clause
// How large the acceleration is where a group of targets sits: the scale of the force-error MAC.
#pragma once

#include "backend/executor.hpp"
#include "core/buffer.hpp"
#include "lists/targets.hpp"
#include "moments/moments.hpp"
#include "tree/tree.hpp"

#include <functional>

namespace graft::lists {

/// size[g] = |acceleration| at the centre of group g from a coarse walk with monopoles (opening angle 1,
/// nodes too close softened by their own size), and at least a twentieth of the sum of the contributions'
/// sizes, so that a place where forces cancel does not ask for the impossible. Internal units; cost about 200
/// nodes a group. The walk begins at `root`; of the tree it reads nodes and the size of their boxes, of the
/// moments centres and magnitudes.
void estimate_accelerations(const backend::Executor& executor, const tree::Tree& tree,
                            const moments::Moments& moments, int32_t root,
                            const core::Buffer<Group>& groups, core::Buffer<double>& size);

/// The same of charges of one sign in a periodic box: over the near images, and `beyond(place)` of all others and the
/// background. It has no least size, since nearly all of a uniform box cancels.
void estimate_accelerations(const backend::Executor& executor, const tree::Tree& tree,
                            const moments::Moments& moments, int32_t root, const core::Buffer<Group>& groups,
                            const core::Buffer<geometry::Vec3>& images,
                            const std::function<geometry::Vec3(const geometry::Vec3&)>& beyond,
                            core::Buffer<double>& size);

} // namespace graft::lists
