// SPDX-License-Identifier: BSD-3-Clause
// What a periodic box must know of its particles before it is summed: the largest softening length, the mean
// square of Plummer's, a slab's extent and moments; and the table of
// the waves' weights.
//
// Sums of blocks in fixed order: the same bits every run.
#include "periodic/periodic_kernels_gpu.cuh"
#include "periodic/plummer_waves.hpp"

#include <algorithm>
#include <cmath>

namespace graft::periodic {

namespace {

constexpr int threads = 256;
constexpr int64_t most_blocks = 128;
constexpr int values = 7; // of a block: |q|, |q| eps^2, q z, q z^2; longest, -lower, upper
constexpr int sums = 4;   // the first of them are added up, of the others the largest counts

struct Found {
    double value[values];
    __device__ void add(const Found& other) {
        for (int c = 0; c < values; ++c)
            value[c] = c < sums ? value[c] + other.value[c] : fmax(value[c], other.value[c]);
    }
};
__device__ Found nothing() {
    return {{0, 0, 0, 0, 0, -1e300, -1e300}};
}

/// Of all threads of the block; the first one has it.
__device__ Found of_block(Found found) {
    __shared__ Found of_warp[threads / 32];
    for (int step = 16; step > 0; step /= 2) {
        Found other;
        for (int c = 0; c < values; ++c)
            other.value[c] = __shfl_down_sync(~0u, found.value[c], step);
        found.add(other);
    }
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = found;
    __syncthreads();
    for (int w = 1; threadIdx.x == 0 && w < threads / 32; ++w)
        found.add(of_warp[w]);
    return found;
}

__device__ const double* along(const forces::DeviceSources& at, int axis) {
    return axis == 0 ? at.x : axis == 1 ? at.y : at.z;
}

__global__ void __launch_bounds__(threads)
    measure_blocks(const MeasureTask task, const backend::DeviceStatus* status) {
    if (backend::stopped(status))
        return;
    const int axis = task.lattice.open_axis;
    const int64_t first = blockIdx.x * int64_t{threads} + threadIdx.x, stride = int64_t{gridDim.x} * threads;
    Found found = nothing();
    for (int64_t i = first; i < task.sources.n; i += stride) {
        const double q = task.sources.charge[i];
        double* const v = found.value;
        if (task.sources.softening != nullptr) {
            const double length = task.sources.softening[i];
            v[0] += fabs(q), v[1] += fabs(q) * length * length, v[4] = fmax(v[4], length);
        }
        if (axis >= 0) {
            const double place = along(task.sources, axis)[i], z = place - task.middle;
            v[2] += q * z, v[3] += q * z * z;
            v[5] = fmax(v[5], -place), v[6] = fmax(v[6], place);
        }
    }
    for (int64_t i = first; axis >= 0 && i < task.points.n; i += stride) {
        const double place = along(task.points, axis)[i];
        found.value[5] = fmax(found.value[5], -place), found.value[6] = fmax(found.value[6], place);
    }
    found = of_block(found);
    if (threadIdx.x == 0)
        for (int c = 0; c < values; ++c)
            task.partial[values * blockIdx.x + c] = found.value[c];
}

__global__ void __launch_bounds__(threads)
    measure_all(const MeasureTask task, int blocks, backend::DeviceStatus* status) {
    if (backend::stopped(status))
        return;
    Found found = nothing();
    if (static_cast<int>(threadIdx.x) < blocks)
        for (int c = 0; c < values; ++c)
            found.value[c] = task.partial[values * threadIdx.x + c];
    found = of_block(found);
    if (threadIdx.x != 0)
        return;
    const double* const v = found.value;
    const PeriodicFacts facts{v[4], -v[5], v[6], v[0], v[0] > 0 ? v[1] / v[0] : 0, {v[2], v[3]}};
    *task.facts = facts;
    const DeviceLattice& planned = task.lattice;
    const bool wide = planned.open_axis >= 0 && facts.upper - facts.lower + planned.gap >
                                                    planned.box.edge[planned.open_axis] * (1 + 1e-9);
    if (!planned.measured || facts.longest > planned.longest || wide)
        backend::stop_with(status, backend::too_small);
}

struct TableKernel {
    WaveTableTask task;
    ExponentialNodes nodes;
};

__device__ void weigh(const TableKernel& in, double eta, double plain, int i, int j, int k, double& weight,
                      double& slope) {
    weight = plain, slope = 0;
    if (!(weight > 0))
        return;
    constexpr double pi = 3.14159265358979323846;
    const geometry::Vec3 g = in.task.box.reciprocal(i, j, k);
    const double square = 4 * pi * pi * (g.x * g.x + g.y * g.y + g.z * g.z);
    const double inverse = 0.25 / (in.task.alpha * in.task.alpha);
    slope = 1 / square + inverse;
    if (!(eta > 0))
        return;
    const PlummerWave wave = plummer_wave(in.nodes, eta, square * inverse);
    weight *= wave.factor;
    slope = weight > 0 ? inverse * wave.moment / wave.factor : 0;
}

/// Long sums: a warp each, beside those of the tiles.
__device__ void set_terms(const TableKernel& in, double eta) {
    const WaveTableTask& task = in.task;
    if (threadIdx.x == 0) {
        const Background all = plummer_background(in.nodes, task.alpha, eta, task.cutoff);
        task.terms->background = {all.potential / task.box.volume(), all.virial / task.box.volume()};
    }
    if (threadIdx.x == 32)
        task.terms->own = own_terms_beyond(in.nodes, task.alpha, eta, task.largest);
}

/// A block a tile, a thread a value.
__global__ void __launch_bounds__(WaveTile::values)
    fill_table(const __grid_constant__ TableKernel in, const backend::DeviceStatus* status) {
    const WaveTableTask& task = in.task;
    if (task.facts != nullptr && backend::stopped(status))
        return;
    const double square = task.facts != nullptr ? task.facts->softening_square : task.square;
    const double eta = square * task.alpha * task.alpha;
    const WaveTile tile = task.tiles[blockIdx.x];
    const int v = threadIdx.x, row = v / WaveTile::k_count, i = tile.i + row / WaveTile::j_count,
              j = tile.j + row % WaveTile::j_count, k = tile.k + v % WaveTile::k_count;
    WaveEntry entry;
    weigh(in, eta, has_plus(i, j, k) ? wave_weight(task.box, task.alpha, task.largest, i, j, k) : 0, i, j, k,
          entry.plus, entry.plus_slope);
    weigh(in, eta, has_minus(i, j, k) ? wave_weight(task.box, task.alpha, task.largest, i, j, -k) : 0, i, j,
          -k, entry.minus, entry.minus_slope);
    task.table[int64_t{blockIdx.x} * WaveTile::values + v] = entry;
    if (blockIdx.x == 0)
        set_terms(in, eta);
}

} // namespace

void measure(backend::Queue& queue, const MeasureTask& task) {
    const int64_t n = std::max(task.sources.n, task.points.n);
    const auto blocks =
        static_cast<unsigned>(std::clamp<int64_t>((n + threads - 1) / threads, 1, most_blocks));
    static_assert(measure_partials == values * most_blocks && most_blocks <= threads);
    measure_blocks<<<blocks, threads, 0, queue.stream()>>>(task, queue.status());
    GRAFT_CUDA_LAUNCHED("measures of a periodic box");
    measure_all<<<1, threads, 0, queue.stream()>>>(task, static_cast<int>(blocks), queue.status());
    GRAFT_CUDA_LAUNCHED("measure of a periodic box");
    queue.launches += 2;
}

void make_wave_table(backend::Queue& queue, const WaveTableTask& task) {
    fill_table<<<static_cast<unsigned>(task.tile_count), WaveTile::values, 0, queue.stream()>>>(
        {task, exponential_nodes()}, queue.status());
    GRAFT_CUDA_LAUNCHED("table of waves");
    ++queue.launches;
}

} // namespace graft::periodic
