// SPDX-License-Identifier: BSD-3-Clause
// The kernels of a mesh at each computation: spreading, transforms, reading. wave_mesh.hpp has the formulas.
//
// Floors, order 6, in lane slots: spreading some 2,000 a particle, reading 1,100 and 216 loads; transforms move 60 bytes a point.
#pragma once

#include "forces/vector_ops_gpu.cuh"
#include "periodic/mesh/fourier_lanes_gpu.cuh"
#include "periodic/mesh/mesh_kernels_gpu.cuh"

namespace graft::periodic::mesh {

constexpr int tile_points = 8;

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
        const int tile[3] = {static_cast<int>(here / (in.tiles[1] * in.tiles[2])),
                             static_cast<int>(here / in.tiles[2] % in.tiles[1]), static_cast<int>(here % in.tiles[2])};
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
            value = static_cast<T>(
                static_cast<double>(static_cast<long long>(in.whole[static_cast<int64_t>(row) * length + point])) * unfixed);
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
        *in.out.charge = static_cast<double>(lines[place_of<T>(0, 0)].re) / in.charge_scale;
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
            in.out.virial[(blockIdx.y * int64_t{gridDim.x} + blockIdx.x) * 6 + threadIdx.x] = total;
        }
    }
    __syncthreads();
    transform_lines(in.plan[0], lines, other);
    store_lines(in, first, stride, length, there, true, lines);
}

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
        in.out.field[(1 + a) * in.targets.n + k] = in.count[a] * (static_cast<double>(sum[1 + a]) - own) / (-2 * pi);
    }
    in.out.field[k] = potential;
}

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
