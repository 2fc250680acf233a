// SPDX-License-Identifier: BSD-3-Clause
// M2P of tasks on the device.
#pragma once

#include "forces/warp_tasks_gpu.cuh"
#include "forces/m2p/packed_cell.hpp"

namespace graft::forces {

/// Whether charges have one sign; then dipoles vanish and fast cells serve.
struct ChargeSigns {
    int32_t one_sign;
};

/// Packs all nodes of the tree, from float records of order 2; finds the signs.
void pack_cells(backend::Queue& queue, const EvaluationView& view, const tree::DeviceTreeCounts* counts,
                int64_t node_capacity, bool softened, PackedCell* cells, ChargeSigns* signs);
/// float, order 2, charges of one sign (else returns at once), no softening or one Plummer length.
void sum_cells_fast(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks,
                    const PackedCell* cells, const ChargeSigns* signs, bool softened, bool potential);

/// Any order; `skip`, if not null: returns at once where the fast cells serve. softened: Plummer, per
/// particle or one length.
void sum_cells_float(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks,
                     const ChargeSigns* skip, int order, bool softened, bool per_particle, bool potential);
void sum_cells_double(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks,
                      const ChargeSigns* skip, int order, bool softened, bool per_particle, bool potential);

} // namespace graft::forces
