// SPDX-License-Identifier: BSD-3-Clause
// The papers' kernels from interaction lists, selectable beside ours (evaluate_gpu.cuh).
//
// All take what DeviceEvaluator::evaluate takes and do the same: set (or add to, how.add) the field of the
// targets of the batch's groups, add to status pairs and cells as the CPU counts them. Enqueued; no waiting,
// no allocation in the steady state (buffers grow only). Throws Error(unsupported) for settings that a
// variant does not do, with what to choose instead.
#pragma once

#include "forces/variants_gpu.cuh"

namespace graft::study {

using forces::VariantBuffers;

/// liu2022's 1-D kernel: a thread a pair of target leaf and source leaf, one atomic write a target particle.
void evaluate_pairs_1d(VariantBuffers& work, backend::Queue& queue, const forces::DeviceEvaluation& how,
                       const tree::DeviceTree& tree, const moments::DeviceMoments& moments,
                       const lists::DeviceTargets& targets, const lists::DeviceLists& lists,
                       forces::DeviceField& field);

/// liu2022's 2-D kernel: a block a target leaf and block_x sources, one atomic a target and block.
void evaluate_tiles_2d(VariantBuffers& work, backend::Queue& queue, const forces::DeviceEvaluation& how,
                       const tree::DeviceTree& tree, const moments::DeviceMoments& moments,
                       const lists::DeviceTargets& targets, const lists::DeviceLists& lists,
                       forces::DeviceField& field);

/// gaburov2010's kernel: a block a group, its list through shared memory.
void evaluate_block_per_group(VariantBuffers& work, backend::Queue& queue,
                              const forces::DeviceEvaluation& how, const tree::DeviceTree& tree,
                              const moments::DeviceMoments& moments, const lists::DeviceTargets& targets,
                              const lists::DeviceLists& lists, forces::DeviceField& field);

/// thuering2023's stages of all pairs, as forces::Variants::Stage.
template <typename T>
void launch_direct_stage(backend::Queue& queue, forces::DirectStage stage, int threads, bool potential,
                         forces::DirectSource<T>* packed, const forces::DirectInput& input);

} // namespace graft::study
