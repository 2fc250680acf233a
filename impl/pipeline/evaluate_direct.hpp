// The methods without a tree: all pairs by the SIMD kernels, or by the reference.
#pragma once

#include "backend/executor.hpp"
#include "lists/targets.hpp"
#include "pipeline/problem.hpp"
#include "pipeline/settings.hpp"
#include "pipeline/workspace.hpp"

namespace graft::pipeline {

/// All pairs, in blocks of targets against blocks of sources. In float each block has its own frame, so the
/// targets are sorted into compact blocks (`targets`: working memory): one far particle must not cost the
/// others their digits. Cost n * targets. Throws core::Error(memory), and Error(value) for targets that span
/// more than 1e150.
void evaluate_direct(const backend::Executor& executor, const Settings& settings, const Problem& problem,
                     bool with_potential, lists::TargetSet& targets, AllWorkspaces& workspaces,
                     RawField& field);

/// The compensated sum of reference/, in double whatever the precision.
void evaluate_reference(const backend::Executor& executor, const Settings& settings, const Problem& problem,
                        bool with_potential, RawField& field);

} // namespace graft::pipeline
