// SPDX-License-Identifier: BSD-3-Clause
// P2P of tasks on the device: one launcher for each precision and kind of softening.
#pragma once

#include "forces/warp_tasks_gpu.cuh"

namespace graft::forces {

/// float, no softening or one Plummer length for all.
void sum_pairs_fast(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks,
                    const PairVariant& variant);
/// float, everything else.
void sum_pairs_float(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks,
                     const PairVariant& variant);
/// double.
void sum_pairs_double(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks,
                      const PairVariant& variant);

} // namespace graft::forces
