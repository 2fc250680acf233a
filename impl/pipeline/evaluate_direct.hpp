// The methods without a tree: all pairs by the SIMD kernels, or by the reference.
#pragma once

#include "backend/executor.hpp"
#include "pipeline/problem.hpp"
#include "pipeline/settings.hpp"
#include "pipeline/workspace.hpp"

namespace graft::pipeline {

/// All pairs, in blocks of targets against blocks of sources; in float each block of targets has its own frame.
/// Cost n * targets. Throws core::Error(memory).
void evaluate_direct(const backend::Executor& executor, const Settings& settings, const Problem& problem,
                     bool with_potential, AllWorkspaces& workspaces, RawField& field);

/// The compensated sum of reference/, in double whatever the precision.
void evaluate_reference(const backend::Executor& executor, const Settings& settings, const Problem& problem,
                        bool with_potential, RawField& field);

} // namespace graft::pipeline
