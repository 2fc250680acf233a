// SPDX-License-Identifier: BSD-3-Clause
// Pairs of tasks in float, see p2p_general_gpu.cuh.
#include "forces/p2p/p2p_gpu.cuh"
#include "forces/p2p/p2p_general_gpu.cuh"

namespace graft::forces {

void sum_pairs_float(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks,
                     const PairVariant& variant) {
    forces::general_pairs::launch_any<float>(queue, view, tasks, variant);
}

} // namespace graft::forces
