// SPDX-License-Identifier: BSD-3-Clause
// Sources into the cells that targets look at. See close_targets_gpu.cuh.
#include "forces/p2p/close_targets_gpu.cuh"

#include <algorithm>

namespace graft::forces {

namespace {

constexpr int threads = 256;

/// Puts source j into its cell: as the one that the cell knows, or as one of several places.
__device__ void put(const CloseCells& cells, const CellTable& table, const DeviceSources& sources, int64_t j) {
    const double x = sources.x[j], y = sources.y[j], z = sources.z[j];
    const CellCoordinates cell(table, x, y, z);
    search_cell(cells, table, cell, [&](unsigned long long& slot, unsigned long long high) {
        unsigned long long there = __ldcg(&slot); // what others have written of late
        if (there == 0)
            there = atomicCAS(&slot, 0ull, high | static_cast<unsigned long long>(j + 1));
        if (there == 0)
            return true;
        if (!is_of_cell(there, high, table, cell, sources))
            return false;
        const int64_t known = source_of_slot(there);
        const bool here = sources.x[known] == x && sources.y[known] == y && sources.z[known] == z;
        if (!here && (there & CloseCells::several) == 0)
            atomicOr(&slot, CloseCells::several);
        return true;
    });
}

__global__ void __launch_bounds__(threads)
    fill_kernel(const CloseCells cells, const DeviceSources sources, const backend::DeviceStatus* status) {
    const int64_t j = blockIdx.x * int64_t{threads} + threadIdx.x;
    if (backend::stopped(status) || j >= sources.n)
        return;
    CloseLimits(cells).for_each_table(cells, [&](const CellTable& table) { put(cells, table, sources, j); });
}

} // namespace

CloseCells DeviceCloseCells::clear(backend::Queue& queue, int64_t sources) {
    CloseCells cells;
    cells.room = std::max<int64_t>(2 * sources, 64);
    memory_.resize(CloseCells::words + CloseCells::most_limits * cells.room);
    cells.limits = memory_.data(), cells.slots = cells.limits + CloseCells::words;
    GRAFT_CUDA(cudaMemsetAsync(memory_.data(), 0, static_cast<size_t>(memory_.size()) * sizeof(unsigned long long),
                               queue.stream()));
    return cells;
}

void fill_cells(backend::Queue& queue, const CloseCells& cells, const DeviceSources& sources) {
    if (sources.n == 0)
        return;
    fill_kernel<<<backend::blocks_for(sources.n, threads), threads, 0, queue.stream()>>>(cells, sources,
                                                                                         queue.status());
    GRAFT_CUDA_LAUNCHED("cells of close sources");
    ++queue.launches;
}

} // namespace graft::forces
