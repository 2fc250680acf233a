// SPDX-License-Identifier: BSD-3-Clause
// The waves of a periodic box: structure factors, weights, field; formulas as in ewald_waves.cpp.
//
// Structure factors: a block has one tile and a chunk of particles. 32 particles at a time, their phases of
// the 32 rows and 8 values stand in shared memory, made by recurrences of at most 8 steps from exact starts;
// a thread has 2 rows x 2 values = 16 sums, so that two 128-bit reads serve 16 multiply-adds. Per particle
// and tile of 256 values (up to 512 vectors): 1,024 multiply-adds, 128 reads, about 330 for the phases.
// Field: a thread is a target; the tile's weights stand in shared memory, its powers of the third axis in
// registers, so that one 128-bit read, the same for a warp, serves 8 multiply-adds; 16 a row beside them.
#pragma once

#include "periodic/periodic_kernels_gpu.cuh"

namespace graft::periodic::periodic_waves {

template <typename T>
struct alignas(2 * sizeof(T)) Complex {
    T re, im;
};
template <typename T>
struct alignas(16) ComplexPair {
    Complex<T> a, b;
};

template <typename T>
__device__ __forceinline__ Complex<T> times(const Complex<T>& a, const Complex<T>& b) {
    return {forces::fused(-a.im, b.im, a.re * b.re), forces::fused(a.re, b.im, a.im * b.re)};
}

/// exp(2 pi i f); in float, what rounding the angle loses is put back to first order.
__device__ __forceinline__ void turn(double f, Complex<double>& to) {
    sincospi(2 * (f - rint(f)), &to.im, &to.re);
}
__device__ __forceinline__ void turn(double f, Complex<float>& to) {
    const double angle = 2 * (f - rint(f));
    const float rounded = static_cast<float>(angle);
    const float rest = static_cast<float>((angle - static_cast<double>(rounded)) * 3.14159265358979323846);
    float s, c;
    sincospif(rounded, &s, &c);
    to = {forces::fused(-rest, s, c), forces::fused(rest, c, s)};
}

inline constexpr int chunk_items = 32, structure_threads = 64, field_threads = 128;
inline constexpr int row_pairs = WaveTile::rows / 2, k_pairs = WaveTile::k_count / 2;

template <typename T>
struct Phases { // of 32 particles; a column more keeps writers of a column off each other's banks
    ComplexPair<T> row[chunk_items][row_pairs + 1], k[chunk_items][k_pairs + 1];
};

/// Thread (particle, half): half of the tile's rows and of its values.
template <typename T>
__device__ __forceinline__ void fill_phases(const PeriodicWaves& in, const WaveTile& tile, int64_t at,
                                            int64_t end, Phases<T>& phases) {
    const int p = threadIdx.x % chunk_items, half = threadIdx.x / chunk_items;
    const int64_t j = min(at + p, end - 1);
    const geometry::Vec3 f = in.box.fractions(in.sources.x[j], in.sources.y[j], in.sources.z[j]);
    const T q = at + p < end ? static_cast<T>(in.sources.charge[j] * in.charge_scale) : T(0);
    Complex<T> y, first_y, z, power;
    turn(f.y, y);
    turn(tile.j * f.y, first_y);
    first_y = {first_y.re * q, first_y.im * q};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        Complex<T> x;
        turn((tile.i + 2 * half + i) * f.x, x);
        Complex<T> row = times(x, first_y);
#pragma unroll
        for (int j_pair = 0; j_pair < WaveTile::j_count / 2; ++j_pair) {
            const Complex<T> next = times(row, y);
            phases.row[p][(2 * half + i) * WaveTile::j_count / 2 + j_pair] = {row, next};
            row = times(next, y);
        }
    }
    turn(f.z, z);
    turn((tile.k + 4 * half) * f.z, power);
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        const Complex<T> next = times(power, z);
        phases.k[p][2 * half + k] = {power, next};
        power = times(next, z);
    }
}

/// real real, imaginary imaginary, imaginary real, real imaginary of row and value.
template <typename T>
__device__ __forceinline__ void add_products(const Complex<T>& row, const Complex<T>& k, T* sum) {
    sum[0] = forces::fused(row.re, k.re, sum[0]), sum[1] = forces::fused(row.im, k.im, sum[1]);
    sum[2] = forces::fused(row.im, k.re, sum[2]), sum[3] = forces::fused(row.re, k.im, sum[3]);
}

template <typename T>
__global__ __launch_bounds__(structure_threads) void structure(const __grid_constant__ PeriodicWaves in) {
    __shared__ Phases<T> phases;
    if (backend::stopped(in.status))
        return;
    constexpr int flush_steps = 8; // sums over 256 particles in T
    const WaveTile tile = in.tiles[blockIdx.x];
    const int64_t begin = blockIdx.y * in.chunk, end = min(begin + in.chunk, in.sources.n);
    const int row = threadIdx.x / k_pairs, k = threadIdx.x % k_pairs;
    T sum[4][4] = {};
    double total[4][4] = {};
    const auto flush = [&] {
#pragma unroll
        for (int v = 0; v < 4; ++v)
#pragma unroll
            for (int c = 0; c < 4; ++c)
                total[v][c] += static_cast<double>(sum[v][c]), sum[v][c] = 0;
    };
    int step = 0;
    for (int64_t at = begin; at < end; at += chunk_items) {
        __syncthreads();
        fill_phases(in, tile, at, end, phases);
        __syncthreads();
#pragma unroll 4
        for (int p = 0; p < chunk_items; ++p) {
            const ComplexPair<T> rows = phases.row[p][row], ks = phases.k[p][k];
            add_products(rows.a, ks.a, sum[0]), add_products(rows.a, ks.b, sum[1]);
            add_products(rows.b, ks.a, sum[2]), add_products(rows.b, ks.b, sum[3]);
        }
        if (++step % flush_steps == 0)
            flush();
    }
    flush();
    double* const to =
        in.structure + (blockIdx.y * int64_t{in.tile_count} + blockIdx.x) * 4 * WaveTile::values;
#pragma unroll
    for (int v = 0; v < 4; ++v)
#pragma unroll
        for (int c = 0; c < 4; ++c)
            to[c * WaveTile::values + (2 * row + v / 2) * WaveTile::k_count + 2 * k + v % 2] = total[v][c];
}

/// Adds the energy's derivative by the strain of one vector (wave_energy() in wave_vectors.cpp).
__device__ inline void add_strain(const PeriodicWaves& in, int i, int j, int k, double weight, double slope,
                                  double real, double imaginary, double (&virial)[6]) {
    if (weight == 0)
        return;
    constexpr double turns = 6.28318530717958647693;
    const geometry::Vec3 g = in.box.reciprocal(i, j, k);
    const double x = turns * g.x, y = turns * g.y, z = turns * g.z;
    const double energy = 0.5 * weight * (real * real + imaginary * imaginary);
    const double along = 2 * energy * slope;
    virial[0] += along * x * x - energy, virial[1] += along * y * y - energy;
    virial[2] += along * z * z - energy, virial[3] += along * x * y;
    virial[4] += along * x * z, virial[5] += along * y * z;
}

/// Of the chunks' structure factors: a quarter of them to a thread, the first of which has the sum.
inline constexpr int weigh_parts = 4;

__device__ inline void sum_chunks(const PeriodicWaves& in, double (&sum)[4]) {
    __shared__ double rest[weigh_parts - 1][4][WaveTile::values];
    const int v = threadIdx.x, part = threadIdx.y;
    const int64_t tile_size = 4 * WaveTile::values, stride = in.tile_count * tile_size;
    const double* from = in.structure + blockIdx.x * tile_size + v + part * stride;
#pragma unroll 4
    for (int32_t chunk = part; chunk < in.chunks; chunk += weigh_parts, from += weigh_parts * stride)
        for (int c = 0; c < 4; ++c)
            sum[c] += from[c * WaveTile::values];
    for (int c = 0; c < 4 && part > 0; ++c)
        rest[part - 1][c][v] = sum[c];
    __syncthreads();
    for (int other = 0; part == 0 && other < weigh_parts - 1; ++other)
        for (int c = 0; c < 4; ++c)
            sum[c] += rest[other][c][v];
}

/// A block a tile, four threads a value: the chunks' sums in a fixed order, then weights.
template <typename T>
__global__
__launch_bounds__(weigh_parts* WaveTile::values) void weigh(const __grid_constant__ PeriodicWaves in) {
    __shared__ double parts[WaveTile::values / 32][6];
    __shared__ uint32_t used;
    if (backend::stopped(in.status))
        return;
    const int v = threadIdx.x, lane = v % 32;
    const bool first = threadIdx.y == 0;
    if (v == 0 && first)
        used = 0;
    const WaveTile tile = in.tiles[blockIdx.x];
    const int row = v / WaveTile::k_count, i = tile.i + row / WaveTile::j_count,
              j = tile.j + row % WaveTile::j_count, k = tile.k + v % WaveTile::k_count;
    const WaveEntry entry = in.table[int64_t{blockIdx.x} * WaveTile::values + v];
    const double plus = entry.plus, minus = entry.minus;
    double sum[4] = {};
    sum_chunks(in, sum);
    if (first) {
        for (double& value : sum)
            value /= in.charge_scale;
        if (blockIdx.x == 0 && v == 0)
            *in.charge = sum[0];
        double virial[6] = {};
        add_strain(in, i, j, k, plus, entry.plus_slope, sum[0] - sum[1], sum[2] + sum[3], virial);
        add_strain(in, i, j, -k, minus, entry.minus_slope, sum[0] + sum[1], sum[2] - sum[3], virial);
        const double factor = in.charge_scale * in.unit;
        const double plus_real = plus * (sum[0] - sum[1]) * factor,
                     plus_imaginary = -plus * (sum[2] + sum[3]) * factor;
        const double minus_real = minus * (sum[0] + sum[1]) * factor,
                     minus_imaginary = -minus * (sum[2] - sum[3]) * factor;
        static_cast<WaveWeights<T>*>(in.weighted)[int64_t{blockIdx.x} * WaveTile::values + v] = {
            {static_cast<T>(plus_real + minus_real), static_cast<T>(plus_imaginary + minus_imaginary)},
            {static_cast<T>(plus_real - minus_real), static_cast<T>(plus_imaginary - minus_imaginary)}};
        for (int c = 0; c < 6; ++c) {
            for (int step = 16; step > 0; step /= 2)
                virial[c] += __shfl_xor_sync(~0u, virial[c], step);
            if (lane == 0)
                parts[v / 32][c] = virial[c];
        }
        const unsigned here = __ballot_sync(~0u, plus != 0 || minus != 0);
        if (lane % WaveTile::k_count == 0 && (here >> lane & 0xff) != 0)
            atomicOr(&used, 1u << row);
    }
    __syncthreads();
    if (v == 0 && first)
        in.rows[blockIdx.x] = used;
    if (v < 6 && first) {
        double total = 0;
        for (int warp = 0; warp < WaveTile::values / 32; ++warp)
            total += parts[warp][v];
        in.tile_virial[int64_t{blockIdx.x} * 6 + v] = total;
    }
}

/// One tile's field at one target: potential, then its derivatives by the fractions without their 2 pi.
template <typename T>
struct TileField {
    Complex<T> power[WaveTile::k_count];
    Complex<T> slope[WaveTile::k_count]; // k times it
    T sum[4];

    __device__ __forceinline__ void start(const WaveTile& tile, double f3) {
        Complex<T> z, now;
        turn(f3, z);
        turn(tile.k * f3, now);
#pragma unroll
        for (int k = 0; k < WaveTile::k_count; ++k) {
            const T factor = static_cast<T>(tile.k + k);
            power[k] = now;
            slope[k] = {now.re * factor, now.im * factor};
            now = times(now, z);
        }
        sum[0] = sum[1] = sum[2] = sum[3] = 0;
    }
    __device__ __forceinline__ void add_row(const WaveWeights<T>* weight, const Complex<T>& row, T i, T j) {
        T u0 = 0, u1 = 0, v0 = 0, v1 = 0;
#pragma unroll
        for (int k = 0; k < WaveTile::k_count; ++k) {
            const WaveWeights<T> w = weight[k];
            u0 = forces::fused(-w.minus[1], power[k].im, forces::fused(w.plus[0], power[k].re, u0));
            u1 = forces::fused(w.minus[0], power[k].im, forces::fused(w.plus[1], power[k].re, u1));
            v0 = forces::fused(-w.plus[1], slope[k].im, forces::fused(w.minus[0], slope[k].re, v0));
            v1 = forces::fused(w.plus[0], slope[k].im, forces::fused(w.minus[1], slope[k].re, v1));
        }
        const T turned = forces::fused(row.re, u1, row.im * u0);
        sum[0] += forces::fused(-row.im, u1, row.re * u0);
        sum[1] = forces::fused(turned, i, sum[1]);
        sum[2] = forces::fused(turned, j, sum[2]);
        sum[3] += forces::fused(row.re, v1, row.im * v0);
    }
};

template <typename T>
__global__ __launch_bounds__(field_threads) void field(const __grid_constant__ PeriodicWaves in) {
    __shared__ WaveWeights<T> weights[WaveTile::values];
    if (backend::stopped(in.status))
        return;
    const int64_t target = blockIdx.x * int64_t{field_threads} + threadIdx.x;
    const int64_t at = min(target, in.targets.n - 1);
    const geometry::Vec3 f = in.box.fractions(in.targets.x[at], in.targets.y[at], in.targets.z[at]);
    double total[4] = {};
    const int32_t first = blockIdx.y * in.group_tiles, end = min(first + in.group_tiles, in.tile_count);
    for (int32_t t = first; t < end; ++t) {
        const WaveTile tile = in.tiles[t];
        const uint32_t used = in.rows[t];
        __syncthreads();
        for (int v = threadIdx.x; v < WaveTile::values; v += field_threads)
            weights[v] = static_cast<const WaveWeights<T>*>(in.weighted)[int64_t{t} * WaveTile::values + v];
        __syncthreads();
        TileField<T> sums;
        Complex<T> y, first_y;
        sums.start(tile, f.z);
        turn(f.y, y);
        turn(tile.j * f.y, first_y);
        for (int i = 0; i < WaveTile::i_count; ++i) {
            if ((used >> i * WaveTile::j_count & 0xff) == 0)
                continue;
            Complex<T> x;
            turn((tile.i + i) * f.x, x);
            Complex<T> row = times(x, first_y);
            for (int j = 0; j < WaveTile::j_count; ++j) {
                const int r = i * WaveTile::j_count + j;
                if (used >> r & 1)
                    sums.add_row(weights + r * WaveTile::k_count, row, static_cast<T>(tile.i + i),
                                 static_cast<T>(tile.j + j));
                row = times(row, y);
            }
        }
#pragma unroll
        for (int c = 0; c < 4; ++c)
            total[c] += static_cast<double>(sums.sum[c]);
    }
    for (int c = 0; c < 4 && target < in.targets.n; ++c)
        in.field[(blockIdx.y * int64_t{4} + c) * in.targets.n + target] = total[c];
}

template <typename T>
void launch_structure(backend::Queue& queue, const PeriodicWaves& in) {
    const dim3 sums(static_cast<unsigned>(in.tile_count), static_cast<unsigned>(in.chunks));
    structure<T><<<sums, structure_threads, 0, queue.stream()>>>(in);
    GRAFT_CUDA_LAUNCHED("structure factors");
    ++queue.launches;
}

template <typename T>
void launch(backend::Queue& queue, const PeriodicWaves& in) {
    const dim3 values(WaveTile::values, weigh_parts);
    weigh<T><<<static_cast<unsigned>(in.tile_count), values, 0, queue.stream()>>>(in);
    GRAFT_CUDA_LAUNCHED("weights of waves");
    ++queue.launches;
    if (in.targets.n == 0)
        return;
    const dim3 grid(backend::blocks_for(in.targets.n, field_threads), static_cast<unsigned>(in.groups));
    field<T><<<grid, field_threads, 0, queue.stream()>>>(in);
    GRAFT_CUDA_LAUNCHED("field of waves");
    ++queue.launches;
}

} // namespace graft::periodic::periodic_waves
