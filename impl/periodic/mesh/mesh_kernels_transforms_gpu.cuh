// SPDX-License-Identifier: BSD-3-Clause
// The kernels of a mesh at each computation: transforms, and the order of all. wave_mesh.hpp has the formulas.
//
// Floor: transforms move 60 bytes a point.
#pragma once

#include "periodic/mesh/fourier_lanes_gpu.cuh"
#include "periodic/mesh/mesh_kernels_particles_gpu.cuh"

namespace graft::periodic::mesh {

/// body(row of the block's, lane): a warp a row.
template <typename Body>
__device__ __forceinline__ void for_each_row(int rows, const Body& body) {
    for (int k = threadIdx.x / 32; k < rows; k += line_threads / 32)
        body(k, static_cast<int>(threadIdx.x % 32));
}

/// Two rows of the mesh a line: from whole numbers to the spectrum.
template <typename T>
__global__ void __launch_bounds__(line_threads) rows_forward(const __grid_constant__ MeshView<T> in) {
    extern __shared__ char room[];
    if (backend::stopped(in.status))
        return;
    const int length = in.count[2], rows = in.count[0] * in.count[1], first = blockIdx.x * 2 * block_lines<T>;
    Pair<T>*lines = reinterpret_cast<Pair<T>*>(room), *other = lines + length * (block_lines<T> + 1);
    const double unfixed = ldexp(1.0, -in.fixed_bits);
    for_each_row(2 * block_lines<T>, [&](int k, int lane) {
        const int row = first + k;
        const auto* const from = in.whole + static_cast<int64_t>(min(row, rows - 1)) * length;
        for (int point = lane; point < length; point += 32) {
            const auto value = static_cast<T>(static_cast<double>(static_cast<long long>(from[point])) * unfixed);
            Pair<T>& to = lines[place_of<T>(point, k / 2)];
            (k % 2 == 0 ? to.re : to.im) = row < rows ? value : T(0);
        }
    });
    __syncthreads();
    transform_lines(in.plan[2], lines, other);
    for_each_row(2 * block_lines<T>, [&](int k, int lane) {
        const int row = first + k;
        for (int point = lane; point < in.half && row < rows; point += 32) {
            const Pair<T> a = lines[place_of<T>(point, k / 2)], b = lines[place_of<T>(point == 0 ? 0 : length - point, k / 2)];
            const T half = T(0.5);
            in.spectrum[static_cast<int64_t>(row) * in.half + point] = k % 2 == 0
                                                                           ? Pair<T>{half * (a.re + b.re), half * (a.im - b.im)}
                                                                           : Pair<T>{half * (a.im + b.im), half * (b.re - a.re)};
        }
    });
}

template <typename T>
__global__ void __launch_bounds__(line_threads) rows_backward(const __grid_constant__ MeshView<T> in) {
    extern __shared__ char room[];
    if (backend::stopped(in.status))
        return;
    const int length = in.count[2], rows = in.count[0] * in.count[1], first = blockIdx.x * 2 * block_lines<T>;
    const int row_size = length + spline_lanes;
    Pair<T>*lines = reinterpret_cast<Pair<T>*>(room), *other = lines + length * (block_lines<T> + 1);
    for_each_row(block_lines<T>, [&](int line, int lane) {
        const int row = first + 2 * line;
        for (int point = lane; point < in.half; point += 32) {
            const int64_t at = static_cast<int64_t>(row) * in.half + point;
            const Pair<T> a = row < rows ? in.spectrum[at] : Pair<T>{0, 0};
            const Pair<T> b = row + 1 < rows ? in.spectrum[at + in.half] : Pair<T>{0, 0};
            lines[place_of<T>(point == 0 ? 0 : length - point, line)] = {a.re + b.im, -(b.re - a.im)}; // conjugate: backwards
            lines[place_of<T>(point, line)] = {a.re - b.im, -(a.im + b.re)};
        }
    });
    __syncthreads();
    transform_lines(in.plan[2], lines, other);
    for_each_row(2 * block_lines<T>, [&](int k, int lane) {
        const int row = first + k;
        for (int point = lane; point < row_size && row < rows; point += 32) {
            const Pair<T> value = lines[place_of<T>(point < length ? point : point - length, k / 2)];
            in.mesh[static_cast<int64_t>(row) * row_size + point] = k % 2 == 0 ? value.re : -value.im;
        }
    });
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
            const double energy =
                0.5 * copies * static_cast<double>(influence) / in.unit * square / (in.charge_scale * in.charge_scale);
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
    if (view.sources.n > 0)
        launch_particles<order>(queue, spread<T, order>, view, view.sources.n);
    const unsigned rows = static_cast<unsigned>((view.count[0] * view.count[1] + 2 * block_lines<T> - 1) / (2 * block_lines<T>));
    launch_lines(queue, rows_forward<T>, rows, line_bytes<T>(view.count[2]), view);
    launch_lines(queue, columns<T, false>, line_grid(view, view.count[0]), line_bytes<T>(view.count[1]), view);
    launch_lines(queue, virial ? convolve<T, true> : convolve<T, false>, line_grid(view, view.count[1]),
                 line_bytes<T>(view.count[0]), view);
    if (view.targets.n == 0)
        return;
    launch_lines(queue, columns<T, true>, line_grid(view, view.count[0]), line_bytes<T>(view.count[1]), view);
    launch_lines(queue, rows_backward<T>, rows, line_bytes<T>(view.count[2]), view);
    launch_particles<order>(queue, read<T, order>, view, view.targets.n);
}

template <typename T>
void launch_sum(backend::Queue& queue, const MeshView<T>& view, bool virial) {
    switch (view.order) {
    case 4:
        return launch_order<T, 4>(queue, view, virial);
    case 6:
        return launch_order<T, 6>(queue, view, virial);
    default:
        return launch_order<T, 8>(queue, view, virial);
    }
}

} // namespace graft::periodic::mesh
