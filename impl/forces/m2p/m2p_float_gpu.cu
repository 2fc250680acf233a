// SPDX-License-Identifier: BSD-3-Clause
// Cells of units in float, orders 0 to 2; see m2p_general_gpu.cuh.
#include "forces/m2p/m2p_general_gpu.cuh"

namespace graft::forces {

void sum_cells_float(backend::Queue& queue, const EvaluationView& view, const UnitView& units,
                     const ChargeSigns* skip, int order, bool softened, bool per_particle, bool potential) {
    forces::general_cells::launch_any<float>(queue, view, units, skip, order, softened, per_particle, potential);
}

} // namespace graft::forces
