// SPDX-License-Identifier: BSD-3-Clause
// Cells of tasks in float, orders 0 to 2; see m2p_general_gpu.cuh.
#include "forces/m2p/m2p_general_gpu.cuh"

namespace graft::forces {

void sum_cells_float(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks,
                     const ChargeSigns* skip, int order, bool softened, bool per_particle, bool potential) {
    forces::general_cells::launch_any<float>(queue, view, tasks, skip, order, softened, per_particle,
                                             potential);
}

} // namespace graft::forces
