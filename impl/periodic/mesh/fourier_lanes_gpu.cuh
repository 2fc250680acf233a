// SPDX-License-Identifier: BSD-3-Clause
// Fast Fourier transforms of the lines of a block in shared memory, as fourier_lanes.hpp has them in vectors.
#pragma once

#include "forces/vector_ops_gpu.cuh"
#include "periodic/mesh/mesh_kernels_gpu.cuh"

namespace graft::periodic::mesh {

/// Lines that a block transforms: 128 bytes of consecutive points.
template <typename T>
inline constexpr int block_lines = 64 / sizeof(T);
inline constexpr int line_threads = 256;

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
__device__ __forceinline__ void line_step(const LinePlan<T>& plan, int rest, int stride, uint32_t inverse, const Pair<T>* from,
                                          Pair<T>* to) {
    const int parts = rest / count, jobs = plan.length / count * block_lines<T>;
    for (int job = threadIdx.x; job < jobs; job += line_threads) {
        const int line = job % block_lines<T>, b = job / block_lines<T>;
        const int p = static_cast<int>(static_cast<uint32_t>(b) * inverse >> LinePlan<T>::inverse_bits), q = b - p * stride;
        Pair<T> x[count];
#pragma unroll
        for (int k = 0; k < count; ++k)
            x[k] = from[place_of<T>(q + stride * (p + parts * k), line)];
        transform_few<count>(x);
        to[place_of<T>(q + stride * count * p, line)] = x[0];
#pragma unroll
        for (int k = 1; k < count; ++k) {
            const Pair<T> root = plan.roots[p * k * stride];
            to[place_of<T>(q + stride * (count * p + k), line)] = {forces::fused(x[k].im, root.im, x[k].re * root.re),
                                                                 forces::fused(x[k].im, root.re, -x[k].re * root.im)};
        }
    }
    __syncthreads();
}

/// Transforms the block's lines; they are complete before, and the outcome is complete after it, in `lines`.
template <typename T>
__device__ __forceinline__ void transform_lines(const LinePlan<T>& plan, Pair<T>*& lines, Pair<T>*& other) {
    int rest = plan.length, stride = 1;
    for (int step = 0; step < plan.steps; ++step) {
        const int factor = plan.factor[step];
        switch (factor) {
        case 2: line_step<2>(plan, rest, stride, plan.inverse[step], lines, other); break;
        case 3: line_step<3>(plan, rest, stride, plan.inverse[step], lines, other); break;
        case 4: line_step<4>(plan, rest, stride, plan.inverse[step], lines, other); break;
        default: line_step<5>(plan, rest, stride, plan.inverse[step], lines, other);
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

} // namespace graft::periodic::mesh
