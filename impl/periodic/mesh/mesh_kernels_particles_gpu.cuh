// SPDX-License-Identifier: BSD-3-Clause
// Between particles and the points of a mesh: charges spread, values read.
//
// Particles come in an order in which neighbours stand together. The points that those of a block reach stand in shared memory,
// where they fit: charges are added there in whole numbers, and from there to the mesh; values are copied there, and read (a
// warp's reads from the mesh itself would each meet as many lines of the cache as it has lanes).
//
// Floors, order 6: 216 additions and 216 reads in shared memory a particle.
#pragma once

#include "backend/primitives_gpu.cuh"
#include "forces/vector_ops_gpu.cuh"
#include "periodic/mesh/mesh_kernels_gpu.cuh"

#include <algorithm>
#include <cmath>

namespace graft::periodic::mesh {

/// Place in units of the spacing, 0 <= u < count.
__device__ inline double mesh_place(double fraction, int count) {
    const double u = (fraction - floor(fraction)) * count;
    return u < count ? u : 0; // NaN of a stopped computation: 0
}

/// A point that a spline reaches, on the mesh: it may be beyond its far face.
__device__ inline int wrapped(int point, int count) {
    return point < count ? point : point - count;
}

/// Of a block.
inline constexpr int most_particles = 128;

/// Where a particle is on the mesh: its first point, and the place between points that splines are polynomials of.
template <typename T>
struct SplineOrigin {
    int first[3];
    T t[3];

    __device__ SplineOrigin(const MeshView<T>& in, const forces::DeviceSources& of, int64_t k) {
        const geometry::Vec3 place = in.box.fractions(of.x[k], of.y[k], of.z[k]);
        const double f[3] = {place.x, place.y, place.z};
#pragma unroll
        for (int a = 0; a < 3; ++a) {
            const double u = mesh_place(f[a], in.count[a]);
            first[a] = static_cast<int>(u);
            t[a] = static_cast<T>(u - first[a] - 0.5);
        }
    }
};

/// The points that a block's particles reach, as if the mesh went on beyond its faces. All threads of a block make one.
struct ReachedPoints {
    int from[3], size[3];

    template <typename T>
    __device__ ReachedPoints(const SplineOrigin<T>& place, int order) {
        __shared__ int bounds[most_particles / 32][6];
#pragma unroll
        for (int a = 0; a < 3; ++a) {
            const int least = __reduce_min_sync(~0u, place.first[a]), largest = __reduce_max_sync(~0u, place.first[a]);
            if (threadIdx.x % 32 == 0)
                bounds[threadIdx.x / 32][a] = least, bounds[threadIdx.x / 32][3 + a] = largest;
        }
        __syncthreads();
#pragma unroll
        for (int a = 0; a < 3; ++a) {
            int least = bounds[0][a], largest = bounds[0][3 + a];
            for (unsigned warp = 1; warp < blockDim.x / 32; ++warp)
                least = min(least, bounds[warp][a]), largest = max(largest, bounds[warp][3 + a]);
            from[a] = least, size[a] = largest - least + order;
        }
    }
    __device__ int count() const { return size[0] * size[1] * size[2]; }
    /// Number of a particle's first point.
    template <typename T>
    __device__ int number(const SplineOrigin<T>& place) const {
        return ((place.first[0] - from[0]) * size[1] + place.first[1] - from[1]) * size[2] + place.first[2] - from[2];
    }
    /// body(number, place in a mesh with rows of so many values) of all points; a thread has all of a column.
    template <typename Body>
    __device__ void for_each(const int (&count)[3], int row_size, const Body& body) const {
        const int columns = size[1] * size[2];
        const int64_t plane = static_cast<int64_t>(count[1]) * row_size;
        for (int column = threadIdx.x; column < columns; column += blockDim.x) {
            const int j = from[1] + column / size[2], l = from[2] + column % size[2];
            const int64_t row = wrapped(j, count[1]) * int64_t{row_size} + wrapped(l, count[2]);
            for (int x = 0; x < size[0]; ++x)
                body(x * columns + column, wrapped(from[0] + x, count[0]) * plane + row);
        }
    }
};

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

/// Entry k by selection: an index that is no constant would put the array in memory.
template <typename T, int order>
__device__ __forceinline__ T entry(const T (&value)[order], int k) {
    T chosen = value[0];
#pragma unroll
    for (int other = 1; other < order; ++other)
        chosen = k == other ? value[other] : chosen;
    return chosen;
}

/// A bound for a point's weight: that of a charge at the point, rounded up.
template <typename T>
constexpr T largest_weight(int order) {
    const T along = order == 4 ? T(0.667) : (order == 6 ? T(0.551) : T(0.48));
    return along * along * along;
}

/// Numbers of a block's charges on its points: of 31 bits, and in double of 23 more.
template <typename T>
struct WholeCharges {
    static constexpr int words = sizeof(T) / 4, more_bits = sizeof(T) == 4 ? 0 : 23;
    int *first, *second;
    T scale; // a power of two: all charges of the block at one point, with the largest weight there is, have 30 bits

    __device__ void add(int k, T value) const {
        value *= scale;
        if constexpr (words == 1) {
            atomicAdd(first + k, __float2int_rn(value));
        } else {
            const int high = __double2int_rn(value);
            atomicAdd(first + k, high);
            atomicAdd(second + k, __double2int_rn((value - high) * (1 << more_bits)));
        }
    }
    __device__ void clear(int k) const {
        first[k] = 0;
        if constexpr (words == 2)
            second[k] = 0;
    }
    __device__ long long value(int k) const {
        if constexpr (words == 1)
            return first[k];
        else
            return (static_cast<long long>(first[k]) << more_bits) + second[k];
    }
};

/// value times 2^bits, rounded.
__device__ inline long long shifted(long long value, int bits) {
    if (bits >= 0)
        return value << bits;
    return bits > -63 ? (value + (1ll << (-bits - 1))) >> -bits : 0;
}

/// A thread a particle. room: points in shared memory.
template <typename T, int order>
__global__ void __launch_bounds__(most_particles) spread(const __grid_constant__ MeshView<T> in, int room) {
    extern __shared__ int numbers[];
    if (backend::stopped(in.status))
        return;
    const int64_t own = blockIdx.x * int64_t{blockDim.x} + threadIdx.x, k = min(own, in.sources.n - 1);
    const SplineOrigin<T> place(in, in.sources, k);
    const ReachedPoints points(place, order);
    const T q = own < in.sources.n ? static_cast<T>(in.sources.charge[k] * in.charge_scale) : T(0);
    const T all = backend::block_sum<most_particles>(q < T(0) ? -q : q);
    if (!(all > T(0)))
        return;
    T x[order], y[order], z[order], slope[order];
    weigh<T, order>(in.spline, place.t[0], x, slope);
    weigh<T, order>(in.spline, place.t[1], y, slope);
    weigh<T, order>(in.spline, place.t[2], z, slope);
    const auto for_each_weight = [&](const auto& add) { // where the particle has a charge
#pragma unroll 1
        for (int a = 0; a < order && q != T(0); ++a) {
            const T along = q * entry(x, a);
#pragma unroll
            for (int b = 0; b < order; ++b) {
                const T both = along * y[b];
#pragma unroll
                for (int c = 0; c < order; ++c)
                    add(a, b, c, both * z[c]);
            }
        }
    };
    const int count = points.count();
    if (count <= room) {
        constexpr int most_bits = 100; // of the scale: what is lost then is nothing beside the others' charges
        const int bits = min(29 - ilogb(all * largest_weight<T>(order)), most_bits);
        const WholeCharges<T> whole{numbers, numbers + room, static_cast<T>(ldexp(T(1), bits))};
        for (int at = threadIdx.x; at < count; at += blockDim.x)
            whole.clear(at);
        __syncthreads();
        const int first = points.number(place);
        for_each_weight(
            [&](int a, int b, int c, T value) { whole.add(first + (a * points.size[1] + b) * points.size[2] + c, value); });
        __syncthreads();
        const int shift = in.fixed_bits - bits - WholeCharges<T>::more_bits;
        points.for_each(in.count, in.count[2], [&](int at, int64_t to) {
            if (const long long value = whole.value(at); value != 0)
                atomicAdd(in.whole + to, static_cast<unsigned long long>(shifted(value, shift)));
        });
        return;
    }
    const double fixed = ldexp(1.0, in.fixed_bits);
    for_each_weight([&](int a, int b, int c, T value) {
        const int64_t row = static_cast<int64_t>(wrapped(place.first[0] + a, in.count[0])) * in.count[1] +
                            wrapped(place.first[1] + b, in.count[1]);
        atomicAdd(in.whole + row * in.count[2] + wrapped(place.first[2] + c, in.count[2]),
                  static_cast<unsigned long long>(llrint(static_cast<double>(value) * fixed)));
    });
}

/// A thread a target. room: points in shared memory.
template <typename T, int order>
__global__ void __launch_bounds__(most_particles) read(const __grid_constant__ MeshView<T> in, int room) {
    extern __shared__ char shared[];
    if (backend::stopped(in.status))
        return;
    T* const values = reinterpret_cast<T*>(shared);
    const int64_t own = blockIdx.x * int64_t{blockDim.x} + threadIdx.x, k = min(own, in.targets.n - 1);
    const SplineOrigin<T> place(in, in.targets, k);
    const ReachedPoints points(place, order);
    const int row_size = in.count[2] + spline_lanes;
    T x[order], y[order], z[order], dx[order], dy[order], dz[order];
    weigh<T, order>(in.spline, place.t[0], x, dx);
    weigh<T, order>(in.spline, place.t[1], y, dy);
    weigh<T, order>(in.spline, place.t[2], z, dz);
    T sum[4] = {};
    const auto sum_rows = [&](const auto& row_of) {
#pragma unroll 1
        for (int a = 0; a < order; ++a) {
            T along = 0, by_y = 0, by_z = 0;
#pragma unroll
            for (int b = 0; b < order; ++b) {
                const T* const row = row_of(a, b);
                T value = 0, slope = 0;
#pragma unroll
                for (int c = 0; c < order; ++c) {
                    const T at = row[c];
                    value = forces::fused(at, z[c], value);
                    slope = forces::fused(at, dz[c], slope);
                }
                along = forces::fused(y[b], value, along);
                by_y = forces::fused(dy[b], value, by_y);
                by_z = forces::fused(y[b], slope, by_z);
            }
            const T wx = entry(x, a), sx = entry(dx, a);
            sum[0] = forces::fused(wx, along, sum[0]), sum[1] = forces::fused(sx, along, sum[1]);
            sum[2] = forces::fused(wx, by_y, sum[2]), sum[3] = forces::fused(wx, by_z, sum[3]);
        }
    };
    if (points.count() <= room) {
        points.for_each(in.count, row_size, [&](int at, int64_t from) { values[at] = in.mesh[from]; });
        __syncthreads();
        const T* const first = values + points.number(place);
        sum_rows([&](int a, int b) { return first + (a * points.size[1] + b) * points.size[2]; });
    } else {
        sum_rows([&](int a, int b) {
            const int64_t row = static_cast<int64_t>(wrapped(place.first[0] + a, in.count[0])) * in.count[1] +
                                wrapped(place.first[1] + b, in.count[1]);
            return in.mesh + row * row_size + place.first[2];
        });
    }
    if (own >= in.targets.n)
        return;
    const double q = in.targets.charge != nullptr ? in.targets.charge[k] * in.charge_scale * in.unit : 0;
    double potential = static_cast<double>(sum[0]) + 2 * q * in.own[3 * self_terms];
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        double sine, cosine; // of half a turn more: as WaveMesh::read
        sincospi(2 * static_cast<double>(place.t[a]), &sine, &cosine);
        const double one = in.own[a * self_terms], two = in.own[a * self_terms + 1];
        const double own = q * 2 * pi * (sine * one - 4 * sine * cosine * two);
        potential -= q * 2 * (-cosine * one + (2 * cosine * cosine - 1) * two);
        in.out.field[(1 + a) * in.targets.n + k] = in.count[a] * (static_cast<double>(sum[1 + a]) - own) / (-2 * pi);
    }
    in.out.field[k] = potential;
}

/// A launch of a thread a particle, in blocks as large as the points fit that they are expected to reach.
template <int order, typename T, class Kernel>
void launch_particles(backend::Queue& queue, Kernel kernel, const MeshView<T>& view, int64_t particles) {
    constexpr int64_t full = 132 * 8 * 64;             // particles; of fewer the blocks are smaller
    constexpr double preferred = 14336;                // points of a block, in float
    constexpr int most = 20480, most_bytes = 4 * most; // threads of the host may launch side by side: the same for all
    const double points = static_cast<double>(view.count[0]) * view.count[1] * view.count[2];
    const auto expected = [&](int threads) { // a run along the curve has about two cubes of half of them, or three at an angle
        const double edge = std::cbrt(0.5 * threads * points / static_cast<double>(particles));
        return (2 * edge + order) * (2 * edge + order) * (edge + order);
    };
    int threads = particles < full ? most_particles / 2 : most_particles;
    while (threads > 32 && expected(threads) > preferred)
        threads /= 2;
    const int room = static_cast<int>(std::min<double>(1.1 * expected(threads) + 512, most)) / static_cast<int>(sizeof(T) / 4);
    const size_t bytes = static_cast<size_t>(room) * sizeof(T);
    GRAFT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_bytes));
    kernel<<<backend::blocks_for(particles, threads), threads, bytes, queue.stream()>>>(view, room);
    GRAFT_CUDA_LAUNCHED("particles on a mesh");
    ++queue.launches;
}

} // namespace graft::periodic::mesh
