// SPDX-License-Identifier: BSD-3-Clause
// Cells of tasks in float, orders 3 and 4; see m2p_general_gpu.cuh.
#include "forces/m2p/m2p_general_gpu.cuh"

namespace graft::forces::general_cells {

template <>
void launch_high<float>(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks,
                        const ChargeSigns* skip, int order, bool softened, bool per_particle,
                        bool potential) {
    if (order == 3)
        launch<float, 3>(queue, view, tasks, skip, softened, per_particle, potential);
    else
        launch<float, 4>(queue, view, tasks, skip, softened, per_particle, potential);
}

} // namespace graft::forces::general_cells
