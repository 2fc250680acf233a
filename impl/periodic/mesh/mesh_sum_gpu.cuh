// SPDX-License-Identifier: BSD-3-Clause
// The kernels of a mesh: tables, spreading, transforms, reading. wave_mesh.hpp has the formulas.
//
// Floors, order 6, in lane slots: spreading some 2,000 a particle, reading 1,100 and 216 loads; transforms move 60 bytes a point.
#pragma once

#include "forces/vector_ops_gpu.cuh"
#include "periodic/mesh/mesh_kernels_gpu.cuh"

namespace graft::periodic::mesh {

constexpr double pi = 3.14159265358979323846;
constexpr int tile_points = 8;

/// Lines that a block transforms: 128 bytes of consecutive points.
template <typename T>
inline constexpr int block_lines = 64 / sizeof(T);
inline constexpr int line_threads = 256;

__device__ inline double frequency(int k, int count) {
    return 2 * k <= count ? k : k - count;
}

// ---- tables ----

/// A block a row of the spectrum.
template <typename T>
__global__ void __launch_bounds__(128) fill_tables(const __grid_constant__ MeshView<T> in) {
    __shared__ double parts[4][own_size];
    const int row = blockIdx.x, i = row / in.count[1], j = row % in.count[1], lane = threadIdx.x % 32;
    const AxisSums x = in.axis[0][i], y = in.axis[1][j];
    const geometry::Vec3 g1 = in.box.reciprocal(1, 0, 0), g2 = in.box.reciprocal(0, 1, 0), g3 = in.box.reciprocal(0, 0, 1);
    const auto dot = [](const geometry::Vec3& a, const geometry::Vec3& b) {
        return 4 * pi * pi * (a.x * b.x + a.y * b.y + a.z * b.z);
    };
    const auto weight = [&](double square) {
        return 4 * pi / (in.box.volume() * square) * exp(-square / (4 * in.alpha * in.alpha));
    };
    double sum[own_size] = {};
    const auto add = [&](const geometry::Vec3& g, double square, double energy) {
        const double a = 2 * pi * g.x, b = 2 * pi * g.y, c = 2 * pi * g.z;
        const double along = 2 * energy * (1 / square + 1 / (4 * in.alpha * in.alpha));
        double* const own = sum + 3 * self_terms;
        own[0] += energy;
        own[1] += along * a * a - energy, own[2] += along * b * b - energy, own[3] += along * c * c - energy;
        own[4] += along * a * b, own[5] += along * a * c, own[6] += along * b * c;
    };
    for (int k = threadIdx.x; k < in.half; k += blockDim.x) {
        const AxisSums z = in.axis[2][k];
        const double copies = k == 0 || 2 * k == in.count[2] ? 1 : 2;
        const double f[3] = {frequency(i, in.count[0]), frequency(j, in.count[1]), static_cast<double>(k)};
        const geometry::Vec3 g = in.box.reciprocal(f[0], f[1], f[2]);
        const double square = dot(g, g);
        T value = 0;
        if (square > 0) {
            const double slopes = dot(g1, g1) * x.second * y.square * z.square + dot(g2, g2) * x.square * y.second * z.square +
                                  dot(g3, g3) * x.square * y.square * z.second +
                                  2 * (dot(g1, g2) * x.first * y.first * z.square + dot(g1, g3) * x.first * y.square * z.first +
                                       dot(g2, g3) * x.square * y.first * z.first);
            const double squares = x.square * y.square * z.square;
            value = static_cast<T>(in.unit * weight(square) * square * x.alone * y.alone * z.alone / (slopes * squares));
            const double influence = static_cast<double>(value) * copies / in.unit;
            for (int m = 0; m < self_terms; ++m) {
                sum[m] += influence * x.shifted[m] * y.square * z.square;
                sum[self_terms + m] += influence * x.square * y.shifted[m] * z.square;
                sum[2 * self_terms + m] += influence * x.square * y.square * z.shifted[m];
            }
            add(g, square, -0.5 * influence * squares);
        }
        in.influence[static_cast<int64_t>(row) * in.half + k] = value;
        for (int n = 0; n < 27; ++n) {
            const geometry::Vec3 other = in.box.reciprocal(f[0] + (n % 3 - 1) * in.count[0], f[1] + (n / 3 % 3 - 1) * in.count[1],
                                                           f[2] + (n / 9 - 1) * in.count[2]);
            const double far = dot(other, other);
            if (far > 0 && far < 100 * in.alpha * in.alpha)
                add(other, far, 0.5 * copies * weight(far));
        }
    }
    for (int c = 0; c < own_size; ++c) {
        for (int step = 16; step > 0; step /= 2)
            sum[c] += __shfl_xor_sync(~0u, sum[c], step);
        if (lane == 0)
            parts[threadIdx.x / 32][c] = sum[c];
    }
    __syncthreads();
    if (threadIdx.x < own_size)
        in.own_rows[static_cast<int64_t>(row) * own_size + threadIdx.x] =
            parts[0][threadIdx.x] + parts[1][threadIdx.x] + parts[2][threadIdx.x] + parts[3][threadIdx.x];
}

/// A block a number.
static __global__ void __launch_bounds__(256) add_own_rows(const double* rows, int64_t count, double* own) {
    __shared__ double parts[256];
    double sum = 0;
    for (int64_t row = threadIdx.x; row < count; row += 256)
        sum += rows[row * own_size + blockIdx.x];
    parts[threadIdx.x] = sum;
    for (int step = 128; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step)
            parts[threadIdx.x] += parts[threadIdx.x + step];
    }
    if (threadIdx.x == 0)
        own[blockIdx.x] = parts[0];
}

// ---- spreading ----

/// Place in units of the spacing, 0 <= u < count.
__device__ inline double mesh_place(double fraction, int count) {
    const double u = (fraction - floor(fraction)) * count;
    return u < count ? u : 0; // NaN of a stopped computation: 0
}

/// A warp's share of the particles.
inline constexpr int warp_particles = 128, spread_warps = 4;

template <typename T, int order>
__global__ void __launch_bounds__(32 * spread_warps) spread(const __grid_constant__ MeshView<T> in) {
    constexpr int side = tile_points + order - 1, size = side * side * side, points = order * order * order;
    constexpr int turns = (points + 31) / 32;
    extern __shared__ char room[];
    if (backend::stopped(in.status))
        return;
    const int lane = threadIdx.x % 32;
    T* const sums = reinterpret_cast<T*>(room) + (threadIdx.x / 32) * size;
    const int64_t first = (blockIdx.x * int64_t{spread_warps} + threadIdx.x / 32) * warp_particles;
    const int64_t end = min(first + warp_particles, in.sources.n);
    if (first >= end)
        return;
    int at[turns], by[turns]; // places in the tile of this lane's points, and their three places in the stencil
#pragma unroll
    for (int s = 0; s < turns; ++s) {
        const int k = min(lane + 32 * s, points - 1), a = k / (order * order), b = k / order % order, c = k % order;
        at[s] = (a * side + b) * side + c;
        by[s] = a | (order + b) << 8 | (2 * order + c) << 16;
    }
    T polynomial[order]; // of lanes 0 ... 3 order - 1: weight lane % order of axis lane / order
#pragma unroll
    for (int p = 0; p < order; ++p)
        polynomial[p] = in.spline.value[p][lane % order];
    uint32_t here = ~0u;
    const auto flush = [&] {
        __syncwarp();
        const int tile[3] = {static_cast<int>(here / (in.tiles[1] * in.tiles[2])), static_cast<int>(here / in.tiles[2] % in.tiles[1]),
                             static_cast<int>(here % in.tiles[2])};
        for (int k = lane; k < size; k += 32) {
            const T value = sums[k];
            sums[k] = 0;
            if (value == T(0))
                continue;
            const int i = (tile[0] * tile_points + k / (side * side)) % in.count[0];
            const int j = (tile[1] * tile_points + k / side % side) % in.count[1];
            const int l = (tile[2] * tile_points + k % side) % in.count[2];
            atomicAdd(in.whole + (static_cast<int64_t>(i) * in.count[1] + j) * in.count[2] + l,
                      static_cast<unsigned long long>(llrint(static_cast<double>(value) * in.fixed)));
        }
        __syncwarp();
    };
    for (int k = lane; k < size; k += 32)
        sums[k] = 0;
    __syncwarp();
    for (int64_t begin = first; begin < end; begin += 32) {
        const int64_t p = min(begin + lane, end - 1), j = in.index[p];
        const uint32_t tile = in.tile[p];
        const geometry::Vec3 place = in.box.fractions(in.sources.x[j], in.sources.y[j], in.sources.z[j]);
        const double f[3] = {place.x, place.y, place.z};
        const T q = static_cast<T>(in.sources.charge[j] * in.charge_scale);
        int base = 0;
        T t[3];
#pragma unroll
        for (int a = 0; a < 3; ++a) {
            const double u = mesh_place(f[a], in.count[a]);
            const int whole = static_cast<int>(u);
            t[a] = static_cast<T>(u - whole - 0.5);
            base = base * side + whole % tile_points;
        }
        const int count = static_cast<int>(min(end - begin, int64_t{32}));
        for (int k = 0; k < count; ++k) {
            const uint32_t of = __shfl_sync(~0u, tile, k);
            if (of != here) {
                if (here != ~0u)
                    flush();
                here = of;
            }
            const T t0 = __shfl_sync(~0u, t[0], k), t1 = __shfl_sync(~0u, t[1], k), t2 = __shfl_sync(~0u, t[2], k);
            const T mine = lane < order ? t0 : (lane < 2 * order ? t1 : t2);
            T weight = polynomial[order - 1];
#pragma unroll
            for (int p1 = order - 2; p1 >= 0; --p1)
                weight = forces::fused(weight, mine, polynomial[p1]);
            const T charge = __shfl_sync(~0u, q, k);
            weight *= lane < order ? charge : T(1);
            const int from = __shfl_sync(~0u, base, k);
#pragma unroll
            for (int s = 0; s < turns; ++s) {
                const T a = __shfl_sync(~0u, weight, by[s] & 255), b = __shfl_sync(~0u, weight, by[s] >> 8 & 255),
                        c = __shfl_sync(~0u, weight, by[s] >> 16);
                if (lane + 32 * s < points)
                    sums[from + at[s]] += a * b * c;
            }
            __syncwarp();
        }
    }
    flush();
}

// ---- transforms ----

template <typename T>
__device__ __forceinline__ Pair<T> add(const Pair<T>& a, const Pair<T>& b) {
    return {a.re + b.re, a.im + b.im};
}
template <typename T>
__device__ __forceinline__ Pair<T> subtract(const Pair<T>& a, const Pair<T>& b) {
    return {a.re - b.re, a.im - b.im};
}
template <typename T>
__device__ __forceinline__ Pair<T> add_scaled(const Pair<T>& a, T factor, const Pair<T>& b) {
    return {forces::fused(factor, b.re, a.re), forces::fused(factor, b.im, a.im)};
}
/// -i times a.
template <typename T>
__device__ __forceinline__ Pair<T> turned(const Pair<T>& a) {
    return {a.im, -a.re};
}

/// As transform_few() of fourier_lanes.hpp.
template <int count, typename T>
__device__ __forceinline__ void transform_few(Pair<T> (&x)[count]) {
    if constexpr (count == 2) {
        const Pair<T> sum = add(x[0], x[1]);
        x[1] = subtract(x[0], x[1]), x[0] = sum;
    } else if constexpr (count == 4) {
        const Pair<T> a = add(x[0], x[2]), b = subtract(x[0], x[2]), c = add(x[1], x[3]), e = turned(subtract(x[1], x[3]));
        x[0] = add(a, c), x[1] = add(b, e), x[2] = subtract(a, c), x[3] = subtract(b, e);
    } else if constexpr (count == 3) {
        const Pair<T> sum = add(x[1], x[2]), difference = turned(subtract(x[1], x[2])), middle = add_scaled(x[0], T(-0.5), sum);
        x[0] = add(x[0], sum);
        x[1] = add_scaled(middle, T(0.866025403784438647), difference);
        x[2] = add_scaled(middle, T(-0.866025403784438647), difference);
    } else {
        constexpr T c1 = T(0.309016994374947424), c2 = T(-0.809016994374947424);
        constexpr T s1 = T(0.951056516295153572), s2 = T(0.587785252292473129);
        const Pair<T> a = add(x[1], x[4]), b = add(x[2], x[3]);
        const Pair<T> e = turned(subtract(x[1], x[4])), f = turned(subtract(x[2], x[3]));
        const Pair<T> one = add_scaled(add_scaled(x[0], c1, a), c2, b), two = add_scaled(add_scaled(x[0], c2, a), c1, b);
        const Pair<T> odd_one = add_scaled(Pair<T>{s2 * f.re, s2 * f.im}, s1, e);
        const Pair<T> odd_two = add_scaled(Pair<T>{s2 * e.re, s2 * e.im}, -s1, f);
        x[0] = add(x[0], add(a, b));
        x[1] = add(one, odd_one), x[4] = subtract(one, odd_one), x[2] = add(two, odd_two), x[3] = subtract(two, odd_two);
    }
}

/// Entry k of a line in shared memory; a column more keeps lines off each other's banks.
template <typename T>
__device__ __forceinline__ int place_of(int k, int line) {
    return k * (block_lines<T> + 1) + line;
}

template <int count, typename T>
__device__ __forceinline__ void line_step(const LinePlan& plan, int rest, int stride, const Pair<T>* from, Pair<T>* to) {
    const int parts = rest / count, jobs = plan.length / count * block_lines<T>;
    for (int job = threadIdx.x; job < jobs; job += line_threads) {
        const int line = job % block_lines<T>, b = job / block_lines<T>, p = b / stride, q = b % stride;
        Pair<T> x[count];
#pragma unroll
        for (int k = 0; k < count; ++k)
            x[k] = from[place_of<T>(q + stride * (p + parts * k), line)];
        transform_few<count>(x);
        to[place_of<T>(q + stride * count * p, line)] = x[0];
#pragma unroll
        for (int k = 1; k < count; ++k) {
            const double2 root = __ldg(plan.roots + p * k * stride);
            const T c = static_cast<T>(root.x), s = static_cast<T>(root.y);
            to[place_of<T>(q + stride * (count * p + k), line)] = {forces::fused(x[k].im, s, x[k].re * c),
                                                                 forces::fused(x[k].im, c, -x[k].re * s)};
        }
    }
    __syncthreads();
}

/// Transforms the block's lines; they are complete before, and the outcome is complete after it, in `lines`.
template <typename T>
__device__ __forceinline__ void transform_lines(const LinePlan& plan, Pair<T>*& lines, Pair<T>*& other) {
    int rest = plan.length, stride = 1;
    for (int step = 0; step < plan.steps; ++step) {
        const int factor = plan.factor[step];
        switch (factor) {
        case 2: line_step<2>(plan, rest, stride, lines, other); break;
        case 3: line_step<3>(plan, rest, stride, lines, other); break;
        case 4: line_step<4>(plan, rest, stride, lines, other); break;
        default: line_step<5>(plan, rest, stride, lines, other);
        }
        Pair<T>* const swapped = lines;
        lines = other, other = swapped;
        rest /= factor, stride *= factor;
    }
}

template <typename T>
size_t line_bytes(int length) {
    return 2 * sizeof(Pair<T>) * static_cast<size_t>(length) * (block_lines<T> + 1);
}

/// Two rows of the mesh a line: from whole numbers to the spectrum.
template <typename T>
__global__ void __launch_bounds__(line_threads) rows_forward(const __grid_constant__ MeshView<T> in) {
    extern __shared__ char room[];
    if (backend::stopped(in.status))
        return;
    const int length = in.count[2], rows = in.count[0] * in.count[1], first = blockIdx.x * 2 * block_lines<T>;
    Pair<T>*lines = reinterpret_cast<Pair<T>*>(room), *other = lines + length * (block_lines<T> + 1);
    const double unfixed = 1 / in.fixed;
    for (int k = threadIdx.x; k < length * 2 * block_lines<T>; k += line_threads) {
        const int row = first + k / length, point = k % length, line = k / length / 2;
        T value = 0;
        if (row < rows)
            value = static_cast<T>(static_cast<double>(static_cast<long long>(in.whole[static_cast<int64_t>(row) * length + point])) *
                                   unfixed);
        Pair<T>& to = lines[place_of<T>(point, line)];
        (k / length % 2 == 0 ? to.re : to.im) = value;
    }
    __syncthreads();
    transform_lines(in.plan[2], lines, other);
    for (int k = threadIdx.x; k < in.half * 2 * block_lines<T>; k += line_threads) {
        const int row = first + k / in.half, point = k % in.half, line = k / in.half / 2;
        if (row >= rows)
            continue;
        const Pair<T> a = lines[place_of<T>(point, line)], b = lines[place_of<T>(point == 0 ? 0 : length - point, line)];
        const T half = T(0.5);
        in.spectrum[static_cast<int64_t>(row) * in.half + point] =
            k / in.half % 2 == 0 ? Pair<T>{half * (a.re + b.re), half * (a.im - b.im)}
                                 : Pair<T>{half * (a.im + b.im), half * (b.re - a.re)};
    }
}

template <typename T>
__global__ void __launch_bounds__(line_threads) rows_backward(const __grid_constant__ MeshView<T> in) {
    extern __shared__ char room[];
    if (backend::stopped(in.status))
        return;
    const int length = in.count[2], rows = in.count[0] * in.count[1], first = blockIdx.x * 2 * block_lines<T>;
    const int row_size = length + spline_lanes;
    Pair<T>*lines = reinterpret_cast<Pair<T>*>(room), *other = lines + length * (block_lines<T> + 1);
    for (int k = threadIdx.x; k < in.half * block_lines<T>; k += line_threads) {
        const int line = k / in.half, row = first + 2 * line, point = k % in.half;
        const int64_t at = static_cast<int64_t>(row) * in.half + point;
        const Pair<T> a = row < rows ? in.spectrum[at] : Pair<T>{0, 0};
        const Pair<T> b = row + 1 < rows ? in.spectrum[at + in.half] : Pair<T>{0, 0};
        lines[place_of<T>(point == 0 ? 0 : length - point, line)] = {a.re + b.im, -(b.re - a.im)}; // conjugate: backwards
        lines[place_of<T>(point, line)] = {a.re - b.im, -(a.im + b.re)};
    }
    __syncthreads();
    transform_lines(in.plan[2], lines, other);
    for (int k = threadIdx.x; k < row_size * 2 * block_lines<T>; k += line_threads) {
        const int row = first + k / row_size, point = k % row_size, line = k / row_size / 2;
        const Pair<T> value = lines[place_of<T>(point % length, line)];
        if (row < rows)
            in.mesh[static_cast<int64_t>(row) * row_size + point] = k / row_size % 2 == 0 ? value.re : -value.im;
    }
}

/// Lines along an axis of which block_lines<T> neighbours along the last axis go together.
template <typename T>
__device__ __forceinline__ void load_lines(const MeshView<T>& in, int64_t first, int64_t stride, int length, int lines_there,
                                           bool conjugate, Pair<T>* lines) {
    for (int k = threadIdx.x; k < length * block_lines<T>; k += line_threads) {
        const int point = k / block_lines<T>, line = k % block_lines<T>;
        Pair<T> value{0, 0};
        if (line < lines_there)
            value = in.spectrum[first + point * stride + line];
        if (conjugate)
            value.im = -value.im;
        lines[place_of<T>(point, line)] = value;
    }
    __syncthreads();
}
template <typename T>
__device__ __forceinline__ void store_lines(const MeshView<T>& in, int64_t first, int64_t stride, int length, int lines_there,
                                            bool conjugate, const Pair<T>* lines) {
    for (int k = threadIdx.x; k < length * block_lines<T>; k += line_threads) {
        const int point = k / block_lines<T>, line = k % block_lines<T>;
        Pair<T> value = lines[place_of<T>(point, line)];
        if (conjugate)
            value.im = -value.im;
        if (line < lines_there)
            in.spectrum[first + point * stride + line] = value;
    }
}

template <typename T, bool inverse>
__global__ void __launch_bounds__(line_threads) columns(const __grid_constant__ MeshView<T> in) {
    extern __shared__ char room[];
    if (backend::stopped(in.status))
        return;
    const int length = in.count[1], k = blockIdx.x * block_lines<T>, there = in.half - k;
    const int64_t first = static_cast<int64_t>(blockIdx.y) * length * in.half + k;
    Pair<T>*lines = reinterpret_cast<Pair<T>*>(room), *other = lines + length * (block_lines<T> + 1);
    load_lines(in, first, in.half, length, there, inverse, lines);
    transform_lines(in.plan[1], lines, other);
    store_lines(in, first, in.half, length, there, inverse, lines);
}

/// Along the first axis, there and back, with the influence function between; the virial, and the net charge.
template <typename T, bool virial>
__global__ void __launch_bounds__(line_threads) convolve(const __grid_constant__ MeshView<T> in) {
    extern __shared__ char room[];
    if (backend::stopped(in.status))
        return;
    const int length = in.count[0], k = blockIdx.x * block_lines<T>, there = in.half - k, j = blockIdx.y;
    const int64_t stride = static_cast<int64_t>(in.count[1]) * in.half, first = static_cast<int64_t>(j) * in.half + k;
    Pair<T>*lines = reinterpret_cast<Pair<T>*>(room), *other = lines + length * (block_lines<T> + 1);
    load_lines(in, first, stride, length, there, false, lines);
    transform_lines(in.plan[0], lines, other);
    if (k == 0 && j == 0 && threadIdx.x == 0)
        *in.charge = static_cast<double>(lines[place_of<T>(0, 0)].re) / in.charge_scale;
    double sum[6] = {};
    for (int at = threadIdx.x; at < length * block_lines<T>; at += line_threads) {
        const int i = at / block_lines<T>, line = at % block_lines<T>;
        Pair<T>& value = lines[place_of<T>(i, line)];
        const T influence = line < there ? in.influence[first + i * stride + line] : T(0);
        if (virial && influence != T(0)) {
            const double square = static_cast<double>(value.re) * static_cast<double>(value.re) +
                                  static_cast<double>(value.im) * static_cast<double>(value.im);
            const double copies = k + line == 0 || 2 * (k + line) == in.count[2] ? 1 : 2;
            const double energy = 0.5 * copies * static_cast<double>(influence) / in.unit * square /
                                  (in.charge_scale * in.charge_scale);
            const geometry::Vec3 g =
                in.box.reciprocal(frequency(i, length), frequency(j, in.count[1]), static_cast<double>(k + line));
            const double x = 2 * pi * g.x, y = 2 * pi * g.y, z = 2 * pi * g.z;
            const double along = 2 * energy * (1 / (x * x + y * y + z * z) + 1 / (4 * in.alpha * in.alpha));
            sum[0] += along * x * x - energy, sum[1] += along * y * y - energy, sum[2] += along * z * z - energy;
            sum[3] += along * x * y, sum[4] += along * x * z, sum[5] += along * y * z;
        }
        value = {value.re * influence, -value.im * influence};
    }
    if (virial) {
        __shared__ double parts[line_threads / 32][6];
        for (int c = 0; c < 6; ++c) {
            for (int step = 16; step > 0; step /= 2)
                sum[c] += __shfl_xor_sync(~0u, sum[c], step);
            if (threadIdx.x % 32 == 0)
                parts[threadIdx.x / 32][c] = sum[c];
        }
        __syncthreads();
        if (threadIdx.x < 6) {
            double total = 0;
            for (int warp = 0; warp < line_threads / 32; ++warp)
                total += parts[warp][threadIdx.x];
            in.virial[(blockIdx.y * int64_t{gridDim.x} + blockIdx.x) * 6 + threadIdx.x] = total;
        }
    }
    __syncthreads();
    transform_lines(in.plan[0], lines, other);
    store_lines(in, first, stride, length, there, true, lines);
}

/// What the charges' own energies lack: one more entry of the virials.
template <typename T>
__global__ void __launch_bounds__(1024) add_own_virial(const __grid_constant__ MeshView<T> in, int64_t entry) {
    __shared__ double parts[1024];
    if (backend::stopped(in.status))
        return;
    double sum = 0;
    for (int64_t k = threadIdx.x; k < in.sources.n; k += 1024)
        sum += in.sources.charge[k] * in.sources.charge[k];
    parts[threadIdx.x] = sum;
    for (int step = 512; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step)
            parts[threadIdx.x] += parts[threadIdx.x + step];
    }
    __syncthreads();
    if (threadIdx.x < 6)
        in.virial[6 * entry + threadIdx.x] = parts[0] * in.own[3 * self_terms + 1 + threadIdx.x];
}

// ---- reading ----

template <typename T, int order>
__device__ __forceinline__ void weigh(const Spline<T>& spline, T t, T (&value)[order], T (&slope)[order]) {
#pragma unroll
    for (int lane = 0; lane < order; ++lane) {
        T v = spline.value[order - 1][lane], s = spline.slope[order - 2][lane];
#pragma unroll
        for (int p = order - 2; p >= 0; --p) {
            v = forces::fused(v, t, spline.value[p][lane]);
            if (p < order - 2)
                s = forces::fused(s, t, spline.slope[p][lane]);
        }
        value[lane] = v, slope[lane] = s;
    }
}

/// A thread a target.
template <typename T, int order>
__global__ void __launch_bounds__(128) read(const __grid_constant__ MeshView<T> in) {
    if (backend::stopped(in.status))
        return;
    const int64_t k = blockIdx.x * int64_t{128} + threadIdx.x;
    if (k >= in.targets.n)
        return;
    const geometry::Vec3 place = in.box.fractions(in.targets.x[k], in.targets.y[k], in.targets.z[k]);
    const double f[3] = {place.x, place.y, place.z};
    int first[3];
    T t[3], x[order], y[order], z[order], dx[order], dy[order], dz[order];
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        const double u = mesh_place(f[a], in.count[a]);
        first[a] = static_cast<int>(u);
        t[a] = static_cast<T>(u - first[a] - 0.5);
    }
    weigh<T, order>(in.spline, t[0], x, dx);
    weigh<T, order>(in.spline, t[1], y, dy);
    weigh<T, order>(in.spline, t[2], z, dz);
    const int64_t row_size = in.count[2] + spline_lanes;
    T sum[4] = {};
#pragma unroll 1
    for (int a = 0; a < order; ++a) {
        const int i = first[0] + a < in.count[0] ? first[0] + a : first[0] + a - in.count[0];
        T along = 0, by_y = 0, by_z = 0;
#pragma unroll
        for (int b = 0; b < order; ++b) {
            const int j = first[1] + b < in.count[1] ? first[1] + b : first[1] + b - in.count[1];
            const T* const row = in.mesh + (static_cast<int64_t>(i) * in.count[1] + j) * row_size + first[2];
            T value = 0, slope = 0;
#pragma unroll
            for (int c = 0; c < order; ++c) {
                const T at = __ldg(row + c);
                value = forces::fused(at, z[c], value);
                slope = forces::fused(at, dz[c], slope);
            }
            along = forces::fused(y[b], value, along);
            by_y = forces::fused(dy[b], value, by_y);
            by_z = forces::fused(y[b], slope, by_z);
        }
        T wx = x[0], sx = dx[0]; // by selection: an index that is no constant would put the arrays in memory
#pragma unroll
        for (int other = 1; other < order; ++other)
            wx = a == other ? x[other] : wx, sx = a == other ? dx[other] : sx;
        sum[0] = forces::fused(wx, along, sum[0]), sum[1] = forces::fused(sx, along, sum[1]);
        sum[2] = forces::fused(wx, by_y, sum[2]), sum[3] = forces::fused(wx, by_z, sum[3]);
    }
    const double q = in.targets.charge != nullptr ? in.targets.charge[k] * in.charge_scale * in.unit : 0;
    double potential = static_cast<double>(sum[0]) + 2 * q * in.own[3 * self_terms];
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        double sine, cosine; // of half a turn more: as WaveMesh::read
        sincospi(2 * static_cast<double>(t[a]), &sine, &cosine);
        const double one = in.own[a * self_terms], two = in.own[a * self_terms + 1];
        const double own = q * 2 * pi * (sine * one - 4 * sine * cosine * two);
        potential -= q * 2 * (-cosine * one + (2 * cosine * cosine - 1) * two);
        in.field[(1 + a) * in.targets.n + k] = in.count[a] * (static_cast<double>(sum[1 + a]) - own) / (-2 * pi);
    }
    in.field[k] = potential;
}

// ---- launches ----

template <class Kernel, class... Arguments>
void launch_lines(backend::Queue& queue, Kernel kernel, dim3 grid, size_t bytes, const Arguments&... arguments) {
    GRAFT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
    kernel<<<grid, line_threads, bytes, queue.stream()>>>(arguments...);
    GRAFT_CUDA_LAUNCHED("transforms of a mesh");
    ++queue.launches;
}

template <typename T>
dim3 line_grid(const MeshView<T>& view, int other) {
    return {static_cast<unsigned>((view.half + block_lines<T> - 1) / block_lines<T>), static_cast<unsigned>(other)};
}

template <typename T>
int64_t convolve_blocks(const MeshView<T>& view) {
    const dim3 grid = line_grid(view, view.count[1]);
    return static_cast<int64_t>(grid.x) * grid.y;
}

template <typename T>
void launch_tables(backend::Queue& queue, const MeshView<T>& view) {
    const int rows = view.count[0] * view.count[1];
    fill_tables<T><<<static_cast<unsigned>(rows), 128, 0, queue.stream()>>>(view);
    GRAFT_CUDA_LAUNCHED("tables of a mesh");
    add_own_rows<<<own_size, 256, 0, queue.stream()>>>(view.own_rows, rows, view.own);
    GRAFT_CUDA_LAUNCHED("own sums of a mesh");
    queue.launches += 2;
}

template <typename T, int order>
void launch_order(backend::Queue& queue, const MeshView<T>& view, bool virial) {
    constexpr int side = tile_points + order - 1;
    constexpr size_t room = sizeof(T) * spread_warps * side * side * side;
    const int64_t warps = (view.sources.n + warp_particles - 1) / warp_particles;
    if (warps > 0) {
        GRAFT_CUDA(cudaFuncSetAttribute(spread<T, order>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(room)));
        spread<T, order><<<backend::blocks_for(warps, spread_warps), 32 * spread_warps, room, queue.stream()>>>(view);
        GRAFT_CUDA_LAUNCHED("charges on a mesh");
        ++queue.launches;
    }
    const unsigned rows = static_cast<unsigned>((view.count[0] * view.count[1] + 2 * block_lines<T> - 1) / (2 * block_lines<T>));
    launch_lines(queue, rows_forward<T>, rows, line_bytes<T>(view.count[2]), view);
    launch_lines(queue, columns<T, false>, line_grid(view, view.count[0]), line_bytes<T>(view.count[1]), view);
    launch_lines(queue, virial ? convolve<T, true> : convolve<T, false>, line_grid(view, view.count[1]),
                 line_bytes<T>(view.count[0]), view);
    if (virial) {
        add_own_virial<T><<<1, 1024, 0, queue.stream()>>>(view, convolve_blocks(view));
        GRAFT_CUDA_LAUNCHED("own virial of a mesh");
        ++queue.launches;
    }
    if (view.targets.n == 0)
        return;
    launch_lines(queue, columns<T, true>, line_grid(view, view.count[0]), line_bytes<T>(view.count[1]), view);
    launch_lines(queue, rows_backward<T>, rows, line_bytes<T>(view.count[2]), view);
    read<T, order><<<backend::blocks_for(view.targets.n, 128), 128, 0, queue.stream()>>>(view);
    GRAFT_CUDA_LAUNCHED("field of a mesh");
    ++queue.launches;
}

template <typename T>
void launch_sum(backend::Queue& queue, const MeshView<T>& view, bool virial) {
    switch (view.order) {
    case 4: return launch_order<T, 4>(queue, view, virial);
    case 6: return launch_order<T, 6>(queue, view, virial);
    default: return launch_order<T, 8>(queue, view, virial);
    }
}

} // namespace graft::periodic::mesh
