// SPDX-License-Identifier: BSD-3-Clause
// The kernels that fill a mesh's tables: influence function, and what a charge does to itself. wave_mesh.cpp has the same.
#pragma once

#include "periodic/mesh/mesh_kernels_gpu.cuh"

namespace graft::periodic::mesh {

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

template <typename T>
void launch_tables(backend::Queue& queue, const MeshView<T>& view) {
    const int rows = view.count[0] * view.count[1];
    fill_tables<T><<<static_cast<unsigned>(rows), 128, 0, queue.stream()>>>(view);
    GRAFT_CUDA_LAUNCHED("tables of a mesh");
    add_own_rows<<<own_size, 256, 0, queue.stream()>>>(view.own_rows, rows, view.own);
    GRAFT_CUDA_LAUNCHED("own sums of a mesh");
    queue.launches += 2;
}

} // namespace graft::periodic::mesh
