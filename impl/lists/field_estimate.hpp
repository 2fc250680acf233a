// SPDX-License-Identifier: BSD-3-Clause
// How large the acceleration is where a group of targets sits: the scale of the force-error MAC.
#pragma once

#include "backend/executor.hpp"
#include "core/buffer.hpp"
#include "lists/estimate_step.hpp"
#include "lists/targets.hpp"
#include "moments/moments.hpp"
#include "tree/tree.hpp"

#include <functional>

namespace graft::lists {

/// Of a node with lengths of its own, else 0: the length that the estimate softens it by.
inline double estimated_softening(const EstimateSoftening& softening, const moments::Moments& moments, int64_t node) {
    return moments.softening.empty() ? 0 : softening.of_node(moments.softening[node], moments.softening_square[node]);
}

/// Targets that are particles of the tree themselves.
struct OwnParticles {
    const int32_t* place;                   // target -> place in tree order; NULL: the same
    int32_t nodes;                          // nodes [0, nodes) hold the tree's particles,
    const core::Buffer<int32_t>& copies;    // and node `nodes` + k is a copy of node copies[k]; -1: of none
};

/// What the estimate reads: of the tree nodes and the size of their boxes, of the moments centres, magnitudes and
/// softening lengths (empty: none of their own).
struct EstimateInput {
    const tree::Tree& tree;
    const moments::Moments& moments;
    int32_t root; // where the walk begins
    const core::Buffer<Group>& groups;
    EstimateSoftening softening;
    const OwnParticles* own = nullptr; // NULL: targets are points
    /// Charges of one sign in a periodic box: the near images, and the field of all others and the background.
    const core::Buffer<geometry::Vec3>* images = nullptr;
    std::function<geometry::Vec3(const geometry::Vec3&)> beyond = {};
};

/// size[g] = |acceleration| at the centre of group g from a coarse walk with monopoles (opening angle 1, softened as
/// the forces are, nodes too close by their own size, too), and at least a twentieth of the sum of the contributions'
/// sizes, so that a place where forces cancel does not ask for the impossible; in a periodic box without that least
/// size, since nearly all of a uniform one cancels. Where one target is heavier than the rest of its group, also the
/// same without it, at its place; the smaller one counts. Internal units; cost about 200 nodes a group.
void estimate_accelerations(const backend::Executor& executor, const EstimateInput& input, core::Buffer<double>& size);

} // namespace graft::lists
