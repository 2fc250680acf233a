// SPDX-License-Identifier: BSD-3-Clause
// See m2p_fast_gpu.cuh: without the potential, the choice, and the packing.
#include "forces/m2p/m2p_fast_gpu.cuh"

#include "moments/expansion.hpp"

#include <algorithm>

namespace graft::forces {

namespace fast_cells {
extern template void launch<false, false>(backend::Queue&, const EvaluationView&, const TaskView&,
                                          const PackedCell*, const ChargeSigns*);
extern template void launch<true, false>(backend::Queue&, const EvaluationView&, const TaskView&,
                                         const PackedCell*, const ChargeSigns*);
extern template void launch<false, true>(backend::Queue&, const EvaluationView&, const TaskView&,
                                         const PackedCell*, const ChargeSigns*);
extern template void launch<true, true>(backend::Queue&, const EvaluationView&, const TaskView&,
                                        const PackedCell*, const ChargeSigns*);
} // namespace fast_cells

namespace {

constexpr int order = 2;

__device__ PackedCell pack(const EvaluationView& v, int64_t k, bool softened) {
    PackedCell cell{v.expansions.cx[k], v.expansions.cy[k], v.expansions.cz[k], 0, 0, {}, 0, 0};
    const float* record = v.expansions.single + k * moments::record_size(order, softened);
    const double q = record[0] * v.charge_scale, size = fabs(q);
    if (!(size > 0))
        return cell;
    cell.a = static_cast<float>(copysign(1 / sqrt(size), q));
    cell.root_charge = static_cast<float>(copysign(sqrt(size), q));
    cell.exponent = v.expansions.radius[k] > 0 ? max(ilogb(v.expansions.rho[k]), -4000) : -4000;
    const double factor = v.charge_scale / (q * size);
    for (int i = 0; i < 5; ++i)
        cell.quadrupole[i] = static_cast<float>(record[4 + i] * factor);
    cell.quadrupole[5] = static_cast<float>(-(double{record[4]} + record[7]) * factor);
    if (softened)
        cell.trace = static_cast<float>(record[9] * factor / size);
    return cell;
}

__global__ void pack_kernel(EvaluationView v, const tree::DeviceTreeCounts* counts, bool softened,
                            PackedCell* cells, ChargeSigns* signs) {
    if (backend::stopped(v.status))
        return;
    const int64_t nodes = counts->nodes, step = int64_t{gridDim.x} * blockDim.x;
    const int64_t first = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (first == 0)
        signs->one_sign =
            nodes > 0 && fabs(v.expansions.values[0]) >= v.expansions.magnitude[0] * (1 - 1e-12) ? 1 : 0;
    for (int64_t k = first; k < nodes; k += step)
        cells[k] = pack(v, k, softened);
}

} // namespace

void pack_cells(backend::Queue& queue, const EvaluationView& view, const tree::DeviceTreeCounts* counts,
                int64_t node_capacity, bool softened, PackedCell* cells, ChargeSigns* signs) {
    const unsigned blocks = std::min(backend::blocks_for(node_capacity, 256), 16u * queue.multiprocessors());
    pack_kernel<<<blocks, 256, 0, queue.stream()>>>(view, counts, softened, cells, signs);
    GRAFT_CUDA_LAUNCHED("pack_cells");
    ++queue.launches;
}

void sum_cells_fast(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks,
                    const PackedCell* cells, const ChargeSigns* signs, bool softened, bool potential) {
    if (potential)
        softened ? forces::fast_cells::launch<true, true>(queue, view, tasks, cells, signs)
                 : forces::fast_cells::launch<false, true>(queue, view, tasks, cells, signs);
    else
        softened ? forces::fast_cells::launch<true, false>(queue, view, tasks, cells, signs)
                 : forces::fast_cells::launch<false, false>(queue, view, tasks, cells, signs);
}

} // namespace graft::forces
