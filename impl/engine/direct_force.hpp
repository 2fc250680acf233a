// SPDX-License-Identifier: BSD-3-Clause
// The methods without a tree: all pairs by the SIMD kernels, or by the reference.
#pragma once

#include "backend/executor.hpp"
#include "forces/workspace.hpp"
#include "lists/targets.hpp"
#include "particles/problem.hpp"
#include "settings/settings.hpp"

namespace graft::engine {

/// Charged points that act: this rank's particles, or a block of another's.
using Sources = forces::ParticleArrays;

Sources own_sources(const particles::Problem& problem);

/// The targets in compact blocks. Throws core::Error(memory), and Error(value) for targets that span more
/// than 1e150.
void set_direct_targets(const backend::Executor& executor, const settings::Settings& settings,
                        const particles::Problem& problem, lists::TargetSet& targets);

/// All pairs of the sources and the targets, in blocks of each; overwrites the field, or adds to it. In float
/// each block has its own frame, so the targets come from set_direct_targets: one far particle must not cost
/// the others their digits. Cost sources * targets. Throws core::Error(memory).
void evaluate_direct(const backend::Executor& executor, const settings::Settings& settings,
                     const particles::Problem& problem, const Sources& sources, bool with_potential, bool add,
                     const lists::TargetSet& targets, forces::AllWorkspaces& workspaces,
                     particles::RawField& field);

/// The compensated sum of reference/, in double whatever the precision. `scratch` is used when adding.
void evaluate_reference(const backend::Executor& executor, const settings::Settings& settings,
                        const particles::Problem& problem, const Sources& sources, bool with_potential,
                        bool add, particles::RawField& scratch, particles::RawField& field);

} // namespace graft::engine
