// SPDX-License-Identifier: BSD-3-Clause
// One call to the GPU's engine, copied, and what follows from it alone.
#pragma once

#include "engine/solver.hpp"
#include "forces/evaluate_gpu.cuh"
#include "lists/lists_gpu.cuh"
#include "settings/settings.hpp"
#include "tree/tree.hpp"

#include <cstdint>

namespace graft::engine {

/// The caller's structs may go. Nothing of it changes once the particles are imported but what ranks agree on.
struct DeviceJob {
    settings::Settings settings; // leaf, group and walk as used
    ParticleInput particles, points;
    Outputs outputs;
    bool with_points = false, all_targets = true;
    bool sums_exactly = false; // method direct
    bool with_potential = false, with_sums = false;
    bool per_particle = false; // a softening length each
    bool over_ranks = false;   // other ranks may have particles where this one has none
    int64_t n = 0, targets = 0;
    int64_t all_particles = 0; // of all ranks
    forces::PairVariant pairs;

    bool empty() const { return (n == 0 && !over_ranks) || targets == 0; }
    bool is_tree() const { return settings.method == settings::Method::tree; }
    /// Targets are some of the particles.
    bool some() const { return !with_points && !all_targets; }
    /// Forces of all particles add up to zero: the field is looked at as a whole.
    bool conserves_momentum() const { return settings.conserve_momentum && !with_points; }
    /// Accelerations are kept, as the next computation's criterion reads them.
    bool remembers() const;
    /// This computation's lists may serve later ones.
    bool keeps_lists() const;
    /// The host feeds liu2022's kernels; lists of several ranks stay on the device.
    bool feeds() const;
    bool uses_tasks() const { return forces::works_by_tasks(kernel()); }
    /// Why far cells do not become polynomials of groups; NULL: they do.
    const char* why_not_local() const;
    forces::DeviceEvaluation evaluation() const;
    forces::DeviceKernel kernel() const { return static_cast<forces::DeviceKernel>(settings.device.kernel); }
    lists::DeviceWalk walk() const { return static_cast<lists::DeviceWalk>(settings.device.walk); }
    /// Of softened kernels, with a length each or one for all.
    void choose_pairs();
    /// What settings leave to the engine, once all of the job is known: leaf and group, and the walk.
    void choose_sizes();
};

/// The job of a call that check() (request.hpp) has let pass, by an engine that does what backend_choice sends to
/// a GPU. Throws Error(unsupported) for what its box does not have.
DeviceJob accept(const settings::Settings& settings, const ParticleInput& particles,
                 const ParticleInput* points, const Outputs& outputs);

/// The octree of a computation, root included where the deck gives one.
tree::TreeOptions octree_options(const settings::Settings& settings);

} // namespace graft::engine
