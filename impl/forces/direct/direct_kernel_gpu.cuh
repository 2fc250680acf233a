// SPDX-License-Identifier: BSD-3-Clause
// The `best` all-pairs kernel: several targets a thread, tiles of sources in shared memory.
//
// A thread keeps `lanes` targets in registers, so that one 128-bit read of a source serves as many pairs;
// targets of a thread are `threads` apart. Sources are converted to the block's frame when the tile is
// filled, and filled up with charge 0. Sums run in T over a tile and then in Sum, so that their rounding does
// not grow with n; the latter stand in shared memory, a place a thread, and cost no registers. Slots:
// pair_gpu.cuh, plus 1 / lanes for the read and the loop's 2 in `unroll` sources.
#pragma once

#include "forces/direct/direct_gpu.cuh"

namespace graft::forces {

template <typename T, typename Sum, int threads_, int lanes_, int tile_, int unroll_>
struct DirectShape {
    using Real = T;
    using Total = Sum;
    static constexpr int threads = threads_, lanes = lanes_, tile = tile_, unroll = unroll_;
};

/// What a block has in shared memory.
template <class Shape, DevicePair kind, bool with_potential>
struct DirectTile {
    using T = typename Shape::Real;
    static constexpr int components = with_potential ? 4 : 3;
    DirectSource<T> source[Shape::tile];
    T soft[kind == DevicePair::constant ? 1 : Shape::tile];
    typename Shape::Total total[Shape::lanes][components][Shape::threads];
};

/// A particle's softening in the frame: eps^2 / 2, or the spline's support.
template <typename T, DevicePair kind>
__device__ __forceinline__ T direct_soft(const DirectInput& input, const double* softening, int64_t k,
                                         double scale) {
    const double length = (softening != nullptr ? softening[k] : input.length) * scale;
    return static_cast<T>(kind == DevicePair::plummer ? 0.5 * length * length : length);
}

template <class Shape, DevicePair kind, bool with_potential>
__device__ __forceinline__ void fill_tile(const DirectInput& input, const Frame& frame, int64_t begin,
                                          int64_t end, DirectTile<Shape, kind, with_potential>& tile) {
    using T = typename Shape::Real;
    for (int k = threadIdx.x; k < Shape::tile; k += Shape::threads) {
        const int64_t j = begin + k;
        DirectSource<T> source{0, 0, 0, 0};
        if (j < end)
            source = {static_cast<T>((input.sources.x[j] - frame.centre[0]) * frame.scale),
                      static_cast<T>((input.sources.y[j] - frame.centre[1]) * frame.scale),
                      static_cast<T>((input.sources.z[j] - frame.centre[2]) * frame.scale),
                      static_cast<T>(input.sources.charge[j] * input.charge_scale)};
        tile.source[k] = source;
        if constexpr (kind != DevicePair::constant)
            tile.soft[k] = j < end ? direct_soft<T, kind>(input, input.sources.softening, j, frame.scale) : 0;
    }
}

/// The targets of a thread, and what it has summed up for them.
template <class Shape, DevicePair kind, bool with_potential>
struct DirectTargets {
    using T = typename Shape::Real;
    using Total = typename Shape::Total;
    using Tile = DirectTile<Shape, kind, with_potential>;
    T x[Shape::lanes], y[Shape::lanes], z[Shape::lanes], soft[Shape::lanes];
    PairSum<T> sum[Shape::lanes] = {};

    __device__ __forceinline__ void load(const DirectInput& input, const Frame& frame, int64_t first) {
#pragma unroll
        for (int t = 0; t < Shape::lanes; ++t) {
            const int64_t k = min(first + t * Shape::threads, input.division.targets - 1);
            x[t] = static_cast<T>((input.targets.x[k] - frame.centre[0]) * frame.scale);
            y[t] = static_cast<T>((input.targets.y[k] - frame.centre[1]) * frame.scale);
            z[t] = static_cast<T>((input.targets.z[k] - frame.centre[2]) * frame.scale);
            if constexpr (kind == DevicePair::constant)
                soft[t] = common_soft<T>(input.plummer, input.length, frame.scale);
            else
                soft[t] = direct_soft<T, kind>(input, input.targets.softening, k, frame.scale) +
                          (kind == DevicePair::plummer ? pair_tiny<T>() : T(0));
        }
    }

    __device__ __forceinline__ void add(const Tile& tile, int j) {
        const DirectSource<T> s = tile.source[j];
        const T of_source = kind == DevicePair::constant ? T(0) : tile.soft[j];
#pragma unroll
        for (int t = 0; t < Shape::lanes; ++t) {
            const T added = kind == DevicePair::constant
                                ? soft[t]
                                : (kind == DevicePair::plummer ? soft[t] + of_source : pair_tiny<T>());
            const T h = soft[t] > of_source ? soft[t] : of_source;
            add_pair_of<kind, with_potential>(s.x - x[t], s.y - y[t], s.z - z[t], s.q, added, h, sum[t]);
        }
    }

    /// Moves the sums to the totals; `first` time: sets them.
    __device__ __forceinline__ void flush(Tile& tile, bool first) {
#pragma unroll
        for (int t = 0; t < Shape::lanes; ++t) {
            const auto move = [&](int component, T value) {
                Total& total = tile.total[t][component][threadIdx.x];
                total = (first ? Total(0) : total) + static_cast<Total>(value);
            };
            move(0, sum[t].x), move(1, sum[t].y), move(2, sum[t].z);
            if constexpr (with_potential)
                move(3, sum[t].potential);
            sum[t] = {};
        }
    }
};

template <class Shape, DevicePair kind, bool with_potential>
__device__ __forceinline__ void store_totals(const DirectInput& input, int64_t first,
                                             const DirectTile<Shape, kind, with_potential>& tile) {
    using Total = typename Shape::Total;
    constexpr int components = with_potential ? 4 : 3;
    Total* to =
        static_cast<Total*>(input.partial) + partial_place(input.division, blockIdx.y, 0, components, 0);
    for (int t = 0; t < Shape::lanes; ++t) {
        const int64_t k = first + t * Shape::threads;
        if (k < input.division.targets)
            for (int component = 0; component < components; ++component)
                to[component * input.division.targets + k] = tile.total[t][component][threadIdx.x];
    }
}

template <class Shape, DevicePair kind, bool with_potential>
__global__ __launch_bounds__(Shape::threads) void direct_kernel(const DirectInput input) {
    __shared__ DirectTile<Shape, kind, with_potential> tile;
    if (backend::stopped(input.status))
        return;
    const Frame frame = input.frames[blockIdx.x];
    const int64_t first = blockIdx.x * int64_t{Shape::threads * Shape::lanes} + threadIdx.x;
    const int64_t begin = blockIdx.y * input.division.part,
                  end = min(begin + input.division.part, input.division.sources);
    DirectTargets<Shape, kind, with_potential> targets;
    targets.load(input, frame, first);
    for (int64_t at = begin; at < end; at += Shape::tile) {
        __syncthreads();
        fill_tile(input, frame, at, end, tile);
        __syncthreads();
        if (end - at >= Shape::tile) { // a fixed number of turns: the compiler overlaps them
#pragma unroll Shape::unroll
            for (int j = 0; j < Shape::tile; ++j)
                targets.add(tile, j);
        } else {
            const int count = static_cast<int>(end - at);
            for (int j = 0; j < count; j += Shape::unroll) // behind the last source: charges 0
#pragma unroll
                for (int k = 0; k < Shape::unroll; ++k)
                    targets.add(tile, j + k);
        }
        targets.flush(tile, at == begin);
    }
    store_totals(input, first, tile);
}

template <class Shape, DevicePair kind, bool with_potential>
void launch_direct_kernel(backend::Queue& queue, const DirectInput& input) {
    const dim3 grid(static_cast<unsigned>(input.division.blocks),
                    static_cast<unsigned>(input.division.parts));
    direct_kernel<Shape, kind, with_potential><<<grid, Shape::threads, 0, queue.stream()>>>(input);
    GRAFT_CUDA_LAUNCHED("all pairs");
    ++queue.launches;
}

template <class Shape>
void launch_direct(backend::Queue& queue, DevicePair kind, bool potential, const DirectInput& input) {
    with_pair_kind(kind, [&]<DevicePair fixed>() {
        potential ? launch_direct_kernel<Shape, fixed, true>(queue, input)
                  : launch_direct_kernel<Shape, fixed, false>(queue, input);
    });
}

// The shapes in use; measured beside others in docs/gpu/direct.md. The wide one has no room in shared memory
// for potentials or softening a particle.
using DirectShapeWide = DirectShape<float, float, 512, 4, 1024, 4>;
using DirectShapeFp32 = DirectShape<float, float, 256, 4, 1024, 4>;
using DirectShapeMixed = DirectShape<float, double, 256, 4, 512, 4>;
using DirectShapeFp64 = DirectShape<double, double, 256, 2, 256, 4>;

} // namespace graft::forces
