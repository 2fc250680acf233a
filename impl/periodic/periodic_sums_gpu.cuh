// SPDX-License-Identifier: BSD-3-Clause
// What is added up at the end of a periodic box: pairs, waves, background, a slab; the virial; structure factors of a rank.
#pragma once

#include "backend/primitives_gpu.cuh"
#include "periodic/periodic_kernels_gpu.cuh"

namespace graft::periodic {

inline constexpr double pi = 3.14159265358979323846;

struct Combination {
    int64_t n, parts;
    int components;
    bool potential;
    const double* partial;
    double square, of_potential; // units of forces and potentials of pairs
    int32_t groups;
    const double* waves;
    double wave_unit; // 1 / (charge_scale unit)
    geometry::Vec3 g[3];
    struct {
        const double *net, *own; // own: of the targets; null where their own terms are in the sums, or not at all
        const ChargeTerms* terms;
        const double* of_targets; // null: none, as of points
        double own_potential;     // of a unit charge in the waves, where no pair takes it off
    } charge;
    const double* across; // places of targets along a slab's open axis; null: no slab
    int open_axis;
    double middle, edge, slab; // slab: 2 pi / volume
    const PeriodicFacts* facts;
    double *ax, *ay, *az, *to_potential;
    double pairs;
    const int32_t* found_close;
    backend::DeviceStatus* status;
};

__device__ inline double sum_parts(const double* from, int64_t parts, int64_t stride) {
    double sum = 0;
#pragma unroll 8
    for (int64_t part = 0; part < parts; ++part)
        sum += from[part * stride];
    return sum;
}

/// PeriodicSum::add_slab.
__device__ inline void add_slab(const Combination& c, int64_t k) {
    const double z = c.across[k] - c.middle, q = *c.charge.net, *const m = c.facts->moments;
    (c.open_axis == 0 ? c.ax : c.open_axis == 1 ? c.ay : c.az)[k] -= 2 * c.slab * (q * z - m[0]);
    if (c.potential)
        c.to_potential[k] -= c.slab * (q * (z * z + c.edge * c.edge / 6) - 2 * z * m[0] + m[1]);
}

inline constexpr int combined = 32, summands = 8; // targets of a block; sums of each: 4 of pairs, 4 of waves

/// A warp a sum: a thread that took all of a target's would read some 200 numbers one after the other.
static __global__ void __launch_bounds__(combined* summands) combine(const Combination c) {
    __shared__ double sums[summands][combined];
    const int t = threadIdx.x, row = threadIdx.y;
    const int64_t k = blockIdx.x * int64_t{combined} + t;
    if (*c.found_close != 0) {
        if (k == 0 && row == 0)
            backend::stop_with(c.status, forces::needs_double);
        return;
    }
    if (backend::stopped(c.status))
        return;
    if (k == 0 && row == 0)
        c.status->pairs += c.pairs;
    if (k < c.n && row < 4 && row < c.components)
        sums[row][t] = sum_parts(c.partial + row * c.n + k, c.parts, c.components * c.n);
    else if (k < c.n && row >= 4)
        sums[row][t] = sum_parts(c.waves + (row - 4) * c.n + k, c.groups, 4 * c.n);
    __syncthreads();
    if (k >= c.n || row > 0)
        return;
    constexpr double turn = -2 * pi;
    double by[3];
    for (int a = 0; a < 3; ++a)
        by[a] = turn * c.wave_unit * sums[5 + a][t];
    c.ax[k] = sums[0][t] * c.square + c.g[0].x * by[0] + c.g[1].x * by[1] + c.g[2].x * by[2];
    c.ay[k] = sums[1][t] * c.square + c.g[0].y * by[0] + c.g[1].y * by[1] + c.g[2].y * by[2];
    c.az[k] = sums[2][t] * c.square + c.g[0].z * by[0] + c.g[1].z * by[1] + c.g[2].z * by[2];
    if (c.potential) {
        const double own = c.charge.own != nullptr ? 2 * c.charge.own[k] * c.charge.terms->own.energy : 0;
        c.to_potential[k] =
            sums[3][t] * c.of_potential + c.wave_unit * sums[4][t] + *c.charge.net * c.charge.terms->background.potential + own;
        if (c.charge.own_potential > 0 && c.charge.of_targets != nullptr)
            c.to_potential[k] -= c.charge.own_potential * c.charge.of_targets[k];
    }
    if (c.across != nullptr)
        add_slab(c, k);
}

inline constexpr int virial_threads = 1024;

struct VirialSums {
    const double* pairs;
    int64_t pair_count; // of six numbers each
    double pair_factor;
    const double* waves;
    int64_t wave_count;
    const double *charge, *own; // the net one; what a unit charge does to its own virial
    const ChargeTerms* terms;
    const double* charges; // of the targets
    int64_t charge_count;
    int open_axis;
    double slab, edge; // as Combination's; slab 0: none
    const PeriodicFacts* facts;
    bool tells_waves;
    double* totals;
    const backend::DeviceStatus* status;
};

/// Of a component of the virial.
__device__ inline double slab_virial(const VirialSums& s, int c) {
    if (s.slab == 0 || c >= 3)
        return 0;
    const double *const m = s.facts->moments, q = *s.charge;
    const double energy = s.slab * (m[0] * m[0] - q * m[1] - q * q * s.edge * s.edge / 12);
    return c == s.open_axis ? energy : -energy;
}

/// Of a block's threads.
__device__ inline double sum_of_squares(const double* value, int64_t count) {
    double sum = 0;
    for (int64_t k = threadIdx.x; k < count; k += virial_threads)
        sum += value[k] * value[k];
    return backend::block_sum<virial_threads>(sum);
}

/// A warp a component; all of them for the charges.
static __global__ void __launch_bounds__(virial_threads) total_virial(const VirialSums s) {
    if (backend::stopped(s.status))
        return;
    const double squares = sum_of_squares(s.charges, s.charge_count);
    const int c = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (c >= 6)
        return;
    double pairs = 0, waves = 0;
    for (int64_t k = lane; k < s.pair_count; k += 32)
        pairs += s.pairs[6 * k + c];
    for (int64_t k = lane; k < s.wave_count; k += 32)
        waves += s.waves[6 * k + c];
    for (int step = 16; step > 0; step /= 2) {
        pairs += __shfl_xor_sync(~0u, pairs, step);
        waves += __shfl_xor_sync(~0u, waves, step);
    }
    const double rest = waves + slab_virial(s, c) - (c < 3 ? 0.5 * *s.charge * *s.charge * s.terms->background.virial : 0);
    if (lane == 0)
        s.totals[c] = pairs * s.pair_factor + squares * s.own[c] + (s.tells_waves ? rest : 0);
}

static __global__ void add_chunks(const double* from, int32_t chunks, int64_t size, double* to,
                                  const backend::DeviceStatus* status) {
    const int64_t k = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
    if (k < size && !backend::stopped(status))
        to[k] = sum_parts(from + k, chunks, size);
}

} // namespace graft::periodic
