// SPDX-License-Identifier: BSD-3-Clause
// Points of the ORB measurements, made on the device from a seed and their index.
#pragma once

#include "backend/queue_gpu.cuh"

#include <cmath>
#include <cstdint>

namespace graft::study {

struct PointMaker {
    uint64_t seed;
    bool plummer;

    __device__ double uniform(int64_t i, int which) const {
        uint64_t v =
            (static_cast<uint64_t>(i) * 4 + static_cast<uint64_t>(which)) * 0x9E3779B97F4A7C15ull + seed;
        v ^= v >> 30, v *= 0xBF58476D1CE4E5B9ull;
        v ^= v >> 27, v *= 0x94D049BB133111EBull;
        v ^= v >> 31;
        return static_cast<double>(v >> 11) * 0x1p-53;
    }
    __device__ void operator()(int64_t i, double (&x)[3]) const {
        for (int a = 0; a < 3; ++a)
            x[a] = uniform(i, a);
        if (!plummer)
            return;
        const double r = 1 / sqrt(pow(x[0] * 0.999 + 1e-9, -2.0 / 3) - 1);
        const double height = 2 * x[1] - 1, angle = 6.283185307179586 * x[2],
                     ring = sqrt(1 - height * height);
        x[0] = r * ring * cos(angle), x[1] = r * ring * sin(angle), x[2] = r * height;
    }
    /// Log-normal, sigma = 1.
    __device__ double weight(int64_t i) const {
        const double u = uniform(i, 3) * 0.999999 + 1e-7;
        return exp(normcdfinv(u));
    }
};

template <typename T>
__global__ void make_points(PointMaker maker, int64_t n, T* x, T* y, T* z, double* weight) {
    const int64_t stride = int64_t{gridDim.x} * blockDim.x;
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
        double p[3];
        maker(i, p);
        x[i] = static_cast<T>(p[0]), y[i] = static_cast<T>(p[1]), z[i] = static_cast<T>(p[2]);
        if (weight != nullptr)
            weight[i] = maker.weight(i);
    }
}

} // namespace graft::study
