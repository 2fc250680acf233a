// SPDX-License-Identifier: BSD-3-Clause
// Between particles and the points of a mesh: charges spread, values read.
//
// Particles come in an order in which neighbours stand together. The points that those of a block reach stand in shared memory,
// where they fit: charges are added there in whole numbers, and from there to the mesh; values are copied there, and read (a
// warp's reads from the mesh itself would each meet as many lines of the cache as it has lanes). Neighbouring lanes have a row
// of a particle's points: lanes with a particle each would want the same bank of shared memory three or four at a time.
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

/// The mesh's row of points at x and y, which may be beyond its far faces.
template <typename T>
__device__ inline int64_t row_of(const MeshView<T>& in, int x, int y) {
    return static_cast<int64_t>(wrapped(x, in.count[0])) * in.count[1] + wrapped(y, in.count[1]);
}

/// Of a block; and its threads, of which `row_lanes` share a particle.
inline constexpr int most_particles = 128, particle_threads = 256;
template <int order>
inline constexpr int row_lanes = order == 4 ? 4 : 8;
/// Blocks that a multiprocessor is to hold, by registers.
template <typename T>
inline constexpr int resident = sizeof(T) == 4 ? 3 : 1;

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
        __shared__ int bounds[particle_threads / 32][6];
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
    __device__ int number(int x, int y, int z) const { return ((x - from[0]) * size[1] + y - from[1]) * size[2] + z - from[2]; }
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

/// Where the particles of a block are, in shared memory.
template <typename T>
struct BlockParticles {
    int first[3][most_particles];
    T t[3][most_particles], charge[most_particles];

    __device__ void put(int p, const SplineOrigin<T>& place, T q) {
#pragma unroll
        for (int a = 0; a < 3; ++a)
            first[a][p] = place.first[a], t[a][p] = place.t[a];
        charge[p] = q;
    }
};

/// The polynomials of a lane's point of a row; zero in lanes behind the last.
template <typename T, int order>
struct LaneSpline {
    T value[order], slope[order - 1];

    __device__ LaneSpline(const Spline<T>& spline, int lane) {
#pragma unroll
        for (int p = 0; p < order; ++p)
            value[p] = spline.value[p][lane];
#pragma unroll
        for (int p = 0; p < order - 1; ++p)
            slope[p] = spline.slope[p][lane];
    }
    template <int count>
    static __device__ __forceinline__ T at(const T (&terms)[count], T t) {
        T sum = terms[count - 1];
#pragma unroll
        for (int p = count - 2; p >= 0; --p)
            sum = forces::fused(sum, t, terms[p]);
        return sum;
    }
    __device__ __forceinline__ T weight(T t) const { return at(value, t); }
    __device__ __forceinline__ T derivative(T t) const { return at(slope, t); }
};

/// A row's lanes of `value`, for each of them. All lanes of a warp come here.
template <int order, typename T>
__device__ __forceinline__ T of_lane(T value, int lane) {
    return __shfl_sync(~0u, value, lane, row_lanes<order>);
}
template <int order, typename T>
__device__ __forceinline__ T sum_lanes(T value) {
#pragma unroll
    for (int step = 1; step < row_lanes<order>; step *= 2)
        value += __shfl_xor_sync(~0u, value, step);
    return value;
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

/// particles: of a block, a power of two from 32 on; room: points in shared memory.
template <typename T, int order>
__global__ void __launch_bounds__(particle_threads, resident<T>)
    spread(const __grid_constant__ MeshView<T> in, int particles, int room) {
    extern __shared__ int numbers[];
    __shared__ BlockParticles<T> block;
    if (backend::stopped(in.status))
        return;
    const int thread = threadIdx.x, lane = thread % row_lanes<order>;
    const int64_t own = blockIdx.x * int64_t{particles} + min(thread, particles - 1), k = min(own, in.sources.n - 1);
    const SplineOrigin<T> place(in, in.sources, k);
    const bool there = thread < particles && own < in.sources.n;
    const T own_charge = there ? static_cast<T>(in.sources.charge[k] * in.charge_scale) : T(0);
    if (thread < particles)
        block.put(thread, place, own_charge);
    const ReachedPoints points(place, order);
    const T all = backend::block_sum<particle_threads>(own_charge < T(0) ? -own_charge : own_charge);
    if (!(all > T(0)))
        return;
    const LaneSpline<T, order> spline(in.spline, lane);
    const auto for_each_weight = [&](const auto& add) { // add(point's number along x, y, z, weight times charge)
        for (int p = thread / row_lanes<order>; p < particles; p += particle_threads / row_lanes<order>) {
            const T x = spline.weight(block.t[0][p]), y = spline.weight(block.t[1][p]);
            const T z = spline.weight(block.t[2][p]) * block.charge[p];
            const int first_x = block.first[0][p], first_y = block.first[1][p], own_z = block.first[2][p] + lane;
            T along_y[order];
#pragma unroll
            for (int b = 0; b < order; ++b)
                along_y[b] = of_lane<order>(y, b) * z;
#pragma unroll 1
            for (int a = 0; a < order; ++a) {
                const T along_x = of_lane<order>(x, a);
#pragma unroll
                for (int b = 0; b < order; ++b)
                    if (z != T(0)) // neither behind the row nor without a charge
                        add(first_x + a, first_y + b, own_z, along_x * along_y[b]);
            }
        }
    };
    const int count = points.count();
    if (count <= room) {
        constexpr int most_bits = 100; // of the scale: what is lost then is nothing beside the others' charges
        const int bits = min(29 - ilogb(all * largest_weight<T>(order)), most_bits);
        const WholeCharges<T> whole{numbers, numbers + room, static_cast<T>(ldexp(T(1), bits))};
        for (int at = thread; at < count; at += particle_threads)
            whole.clear(at);
        __syncthreads();
        for_each_weight([&](int x, int y, int z, T value) { whole.add(points.number(x, y, z), value); });
        __syncthreads();
        const int shift = in.fixed_bits - bits - WholeCharges<T>::more_bits;
        points.for_each(in.count, in.count[2], [&](int at, int64_t to) {
            if (const long long value = whole.value(at); value != 0)
                atomicAdd(in.whole + to, static_cast<unsigned long long>(shifted(value, shift)));
        });
        return;
    }
    const double fixed = ldexp(1.0, in.fixed_bits);
    for_each_weight([&](int x, int y, int z, T value) {
        atomicAdd(in.whole + row_of(in, x, y) * in.count[2] + wrapped(z, in.count[2]),
                  static_cast<unsigned long long>(llrint(static_cast<double>(value) * fixed)));
    });
}

/// particles, room: as of spread().
template <typename T, int order>
__global__ void __launch_bounds__(particle_threads, resident<T>)
    read(const __grid_constant__ MeshView<T> in, int particles, int room) {
    extern __shared__ char shared[];
    __shared__ BlockParticles<T> block;
    __shared__ T sums[4][most_particles];
    if (backend::stopped(in.status))
        return;
    T* const values = reinterpret_cast<T*>(shared);
    const int thread = threadIdx.x, lane = thread % row_lanes<order>;
    const int64_t own = blockIdx.x * int64_t{particles} + min(thread, particles - 1), k = min(own, in.targets.n - 1);
    const SplineOrigin<T> place(in, in.targets, k);
    if (thread < particles)
        block.put(thread, place, T(0));
    const ReachedPoints points(place, order);
    const int row_size = in.count[2] + spline_lanes;
    const LaneSpline<T, order> spline(in.spline, lane);
    const auto sum_rows = [&](const auto& point_of) { // point_of(its number along x, y, z)
        for (int p = thread / row_lanes<order>; p < particles; p += particle_threads / row_lanes<order>) {
            const T x = spline.weight(block.t[0][p]), by_x = spline.derivative(block.t[0][p]);
            const T y = spline.weight(block.t[1][p]), by_y = spline.derivative(block.t[1][p]);
            const T z = spline.weight(block.t[2][p]), by_z = spline.derivative(block.t[2][p]);
            const int first_x = block.first[0][p], first_y = block.first[1][p], own_z = block.first[2][p] + lane;
            T along_y[order], slope_y[order];
#pragma unroll
            for (int b = 0; b < order; ++b)
                along_y[b] = of_lane<order>(y, b), slope_y[b] = of_lane<order>(by_y, b);
            T value = 0, slope_x = 0, other_slope = 0;
#pragma unroll 1
            for (int a = 0; a < order; ++a) {
                T along = 0, slope = 0;
#pragma unroll
                for (int b = 0; b < order; ++b) {
                    const T at = lane < order ? point_of(first_x + a, first_y + b, own_z) : T(0);
                    along = forces::fused(along_y[b], at, along);
                    slope = forces::fused(slope_y[b], at, slope);
                }
                const T weight = of_lane<order>(x, a);
                value = forces::fused(weight, along, value);
                slope_x = forces::fused(of_lane<order>(by_x, a), along, slope_x);
                other_slope = forces::fused(weight, slope, other_slope);
            }
            const T sum[4] = {sum_lanes<order>(z * value), sum_lanes<order>(z * slope_x), sum_lanes<order>(z * other_slope),
                              sum_lanes<order>(by_z * value)};
            for (int c = 0; c < 4 && lane == 0; ++c)
                sums[c][p] = sum[c];
        }
    };
    if (points.count() <= room) {
        points.for_each(in.count, row_size, [&](int at, int64_t from) { values[at] = in.mesh[from]; });
        __syncthreads();
        sum_rows([&](int x, int y, int z) { return values[points.number(x, y, z)]; });
    } else {
        sum_rows([&](int x, int y, int z) { return in.mesh[row_of(in, x, y) * row_size + z]; });
    }
    __syncthreads();
    if (thread >= particles || own >= in.targets.n)
        return;
    const double q = in.targets.charge != nullptr ? in.targets.charge[k] * in.charge_scale * in.unit : 0;
    double potential = static_cast<double>(sums[0][thread]) + 2 * q * in.own[3 * self_terms];
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        double sine, cosine; // of half a turn more: as WaveMesh::read
        sincospi(2 * static_cast<double>(place.t[a]), &sine, &cosine);
        const double one = in.own[a * self_terms], two = in.own[a * self_terms + 1];
        const double own_slope = q * 2 * pi * (sine * one - 4 * sine * cosine * two);
        potential -= q * 2 * (-cosine * one + (2 * cosine * cosine - 1) * two);
        in.out.field[(1 + a) * in.targets.n + k] =
            in.count[a] * (static_cast<double>(sums[1 + a][thread]) - own_slope) / (-2 * pi);
    }
    in.out.field[k] = potential;
}

/// A launch in blocks as large as the points fit that they are expected to reach.
template <int order, typename T, class Kernel>
void launch_particles(backend::Queue& queue, Kernel kernel, const MeshView<T>& view, int64_t particles) {
    constexpr int64_t full = 132 * 8 * 64; // particles; of fewer the blocks are smaller
    constexpr int most_bytes = 81920;      // threads of the host may launch side by side: the same for all
    constexpr double most = most_bytes / sizeof(T), preferred = 0.7 * most; // points of a block
    const double points = static_cast<double>(view.count[0]) * view.count[1] * view.count[2];
    const auto expected = [&](int count) { // a run along the curve has about two cubes of half of them, or three at an angle
        const double edge = std::cbrt(0.5 * count * points / static_cast<double>(particles));
        return (2 * edge + order) * (2 * edge + order) * (edge + order);
    };
    int count = particles < full ? most_particles / 2 : most_particles; // of a block
    while (count > 32 && expected(count) > preferred)
        count /= 2;
    const int room = static_cast<int>(std::min(1.1 * expected(count) + 512, most));
    const size_t bytes = static_cast<size_t>(room) * sizeof(T);
    GRAFT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_bytes));
    kernel<<<backend::blocks_for(particles, count), particle_threads, bytes, queue.stream()>>>(view, count, room);
    GRAFT_CUDA_LAUNCHED("particles on a mesh");
    ++queue.launches;
}

} // namespace graft::periodic::mesh
