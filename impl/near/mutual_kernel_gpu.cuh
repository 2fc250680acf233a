// SPDX-License-Identifier: BSD-3-Clause
// The first kernel of mutual_gpu.cuh: a warp sums targets of one box with the box itself and with its
// later neighbours' sources, which get their part at once.
//
// n targets take L = ceil(n / T) lanes, T in each one's registers, and 32 / L = S streams of sources share
// the warp. Lane l of a stream is l sources behind lane 0: each source meets the lanes in their order, one at
// a time, and its sums wait in shared memory beside it, so that nothing is reduced and no two lanes add to
// one sum. Sources stand in a ring of four chunks: one is summed, the last lanes are still in the one before,
// two are on their way by asynchronous copies; a chunk that all lanes have left is written and filled anew.
//
// Slots a pair of targets, laplace: 19 with potential and gradient, 17 and 9 with one of them (14, 13 and 8
// where each side is summed alone, which a pair needs twice), + 8 / T for a source's loads, store and loop.
#pragma once

#include "near/mutual_gpu.cuh"
#include "near/radial.hpp"
#include "near/tiles/tile_shapes.hpp"

#include <cuda_pipeline.h>

namespace graft::near {

constexpr int mutual_least = once_least, mutual_most = once_most; // T
constexpr int mutual_chunk = 64;              // sources; at least 32, as many as all lanes are behind
constexpr int mutual_ring = 4 * mutual_chunk; // a power of two
constexpr int mutual_resident = 16;           // warps of a multiprocessor
constexpr float mutual_far = 3e18f; // where sources without charge stand: farther out than points may (1e18)
static_assert(mutual_ring >= 32 * mutual_most, "the streams' sums take the place of the sources");

template <Form form, bool value, bool slope, int dimension, int T>
struct MutualLoop {
    using Sum = PointSum<float, 1, dimension>;

    const SumView<Precision::fp32>& v;
    const MutualUnit& unit;
    float4 *source, *passed;                 // the ring: sources, and what they have got so far
    float4* left;                            // in memory: what later sources get
    int lane, lanes, streams, place, stream; // L, S, and this thread's
    float of_streams;                        // 1 / S
    float target[T][dimension], charge[T];
    Sum sum[T];

    /// floor(a / S) for 0 <= a < 2^20.
    __device__ __forceinline__ int by_streams(int a) const {
        return static_cast<int>((static_cast<float>(a) + 0.5f) * of_streams);
    }
    static __device__ __forceinline__ float4 nothing() {
        return make_float4(mutual_far, mutual_far, mutual_far, 0);
    }
    __device__ __forceinline__ bool active() const { return place < lanes; }

    __device__ __forceinline__ MutualLoop(const SumView<Precision::fp32>& view, const MutualUnit& of,
                                          float4* sums, float4* shared)
        : v(view), unit(of), source(shared), passed(shared + mutual_ring), left(sums + of.later) {
        lane = static_cast<int>(threadIdx.x);
        lanes = (unit.count + T - 1) / T, streams = 32 / lanes;
        of_streams = __frcp_rn(static_cast<float>(streams));
        place = by_streams(lane), stream = lane - place * streams;
#pragma unroll
        for (int t = 0; t < T; ++t) {
            const int i = place + t * lanes;
            const float4 p =
                __ldg(reinterpret_cast<const float4*>(v.source) + unit.first + min(i, unit.count - 1));
            target[t][0] = p.x, target[t][1] = p.y;
            if constexpr (dimension == 3)
                target[t][2] = p.z;
            charge[t] = active() && i < unit.count ? p.w : 0.0f; // what is none gives nothing
            sum[t] = {};
        }
    }

    template <class Ops>
    __device__ __forceinline__ Radial<float> meet(const Ops& ops, const float4& s, int t,
                                                  float (&d)[dimension]) const {
        const float at[3] = {s.x, s.y, s.z};
#pragma unroll
        for (int axis = 0; axis < dimension; ++axis)
            d[axis] = at[axis] - target[t][axis];
        float r2 = v.softening_square;
#pragma unroll
        for (int axis = 0; axis < dimension; ++axis)
            r2 = forces::fused(d[axis], d[axis], r2);
        return radial<form, value, slope>(ops, r2, v.constants);
    }
    /// Own sources [k, end), every S-th; target 0 is source `self`, target t is `lanes` t further.
    __device__ __forceinline__ void add_own(int k, int end, int self) {
        const DeviceOps<float, true, slope && has_cube(form)> ops;
#pragma unroll 1
        for (; k < end; k += streams) {
            const float4 s = source[k];
#pragma unroll
            for (int t = 0; t < T; ++t) {
                float d[dimension];
                const Radial<float> pair = meet(ops, s, t, d);
                const float q[1] = {k != self + t * lanes ? s.w : 0.0f};
                add_charges<form, value, slope>(ops, d, q, pair, sum[t]);
            }
        }
    }
    __device__ __forceinline__ void own_box() {
        const int first = v.boxes.target_offset[unit.box], n = v.boxes.target_offset[unit.box + 1] - first;
        for (int begin = 0; begin < n; begin += mutual_ring) {
            const int end = min(n - begin, mutual_ring);
            for (int i = lane; i < end; i += 32)
                __pipeline_memcpy_async(source + i, v.source + first + begin + i, 16);
            __pipeline_commit();
            __pipeline_wait_prior(0);
            __syncwarp();
            add_own(stream, end, unit.first - first - begin + place);
            __syncwarp();
        }
    }

    /// One source, at place `at` of the ring, and what it has got.
    template <class Ops>
    __device__ __forceinline__ void step(const Ops& ops, int& at) {
        const float4 s = source[at];
        const float4 before = passed[at];
        Sum got;
        got.potential[0] = before.x, got.gradient[0][0] = before.y, got.gradient[0][1] = before.z;
        if constexpr (dimension == 3)
            got.gradient[0][2] = before.w;
#pragma unroll
        for (int t = 0; t < T; ++t) {
            float d[dimension], back[dimension];
            const Radial<float> pair = meet(ops, s, t, d);
#pragma unroll
            for (int axis = 0; axis < dimension; ++axis)
                back[axis] = -d[axis];
            const float given[1] = {s.w}, taken[1] = {charge[t]};
            add_charges<form, value, slope>(ops, d, given, pair, sum[t]);
            add_charges<form, value, slope>(ops, back, taken, pair, got);
        }
        if (active())
            passed[at] = packed(got);
        at = (at + streams) & (mutual_ring - 1);
        __syncwarp();
    }
    /// `steps` steps, each with a row of sources, from place `at` of the ring on; two a turn where that gains
    /// (4 % with potential and gradient, and loses as much with potentials alone).
    template <bool checked>
    __device__ __forceinline__ int pass(int at, int steps) {
        const DeviceOps<float, checked, slope && has_cube(form)> ops;
        constexpr bool twice = value && slope;
        if constexpr (twice) {
#pragma unroll 1
            for (; steps > 1; steps -= 2)
                step(ops, at), step(ops, at);
        }
#pragma unroll 1
        for (; steps > 0; --steps)
            step(ops, at);
        return at;
    }
    static __device__ __forceinline__ float4 packed(const Sum& s) {
        return make_float4(s.potential[0], s.gradient[0][0], s.gradient[0][1],
                           dimension == 3 ? s.gradient[0][dimension - 1] : 0.0f);
    }
    /// Writes what the sources of a chunk have got.
    __device__ __forceinline__ void leave(int chunk, int m) const {
        const int begin = chunk * mutual_chunk;
        const float4* const from = passed + (begin & (mutual_ring - 1));
#pragma unroll
        for (int i = 0; i < mutual_chunk; i += 32)
            if (begin + i + lane < m)
                __stcs(left + begin + i + lane, from[i + lane]);
    }

    template <bool checked>
    __device__ __forceinline__ void later_boxes(int m) {
        const int2* run = v.runs.run + v.runs.offset[unit.box];
        int2 r = __ldg(run);
        int before = 0; // sources in the runs before `run`
        const auto stage = [&](int chunk) {
            const int begin = chunk * mutual_chunk, end = min(m, begin + mutual_chunk);
            const int at = begin & (mutual_ring - 1);
            float4* const to = source + at;
#pragma unroll
            for (int i = 0; i < mutual_chunk; i += 32)
                passed[at + i + lane] = make_float4(0, 0, 0, 0);
            while (begin < end) {
                const int last = min(r.y - r.x, end - before);
                for (int j = max(begin - before, 0) + lane; j < last; j += 32)
                    __pipeline_memcpy_async(to + (before + j - begin), v.source + r.x + j, 16);
                if (before + r.y - r.x >= end)
                    break;
                before += r.y - r.x, ++run;
                r = __ldg(run);
            }
            for (int i = max(end - begin, 0) + lane; i < mutual_chunk; i += 32)
                to[i] = nothing();
            __pipeline_commit();
        };
        source[mutual_ring - 32 + lane] = nothing(); // before the first
        stage(0), stage(1), stage(2);
        const int steps = by_streams(m + streams - 1) + lanes - 1;
        int at = (stream - place * streams) & (mutual_ring - 1), done = 0;
#pragma unroll 1
        for (int chunk = 0;; ++chunk) {
            __pipeline_wait_prior(2);
            __syncwarp();
            const int until = min(by_streams((chunk + 1) * mutual_chunk), steps); // whole rows
            at = pass<checked>(at, until - done);
            done = until;
            if (chunk > 0)
                leave(chunk - 1, m);
            if (done >= steps) {
                leave(chunk, m);
                break;
            }
            __syncwarp();
            stage(chunk + 3);
        }
        __pipeline_wait_prior(0);
    }
    /// Adds the streams' sums in their order, and writes.
    __device__ __forceinline__ void finish(float4* sums) {
        __syncwarp();
        const int row = lanes * T;
        if (active()) {
#pragma unroll
            for (int t = 0; t < T; ++t)
                source[stream * row + place + t * lanes] = packed(sum[t]);
        }
        __syncwarp();
        for (int i = lane; i < unit.count; i += 32) {
            float4 all = source[i];
#pragma unroll 4
            for (int s = 1; s < streams; ++s) {
                const float4 one = source[s * row + i];
                all.x += one.x, all.y += one.y, all.z += one.z, all.w += one.w;
            }
            sums[unit.sums + i] = all;
        }
    }
};

template <Form form, bool value, bool slope, int dimension, int T>
__device__ __forceinline__ void sum_unit(const SumView<Precision::fp32>& v, const MutualView& mutual,
                                         const MutualUnit& unit, float4* shared) {
    if constexpr (T > mutual_least)
        if (unit.targets < T)
            return sum_unit<form, value, slope, dimension, T - 1>(v, mutual, unit, shared);
    MutualLoop<form, value, slope, dimension, T> loop(v, unit, mutual.sum, shared);
    if (unit.own != 0)
        loop.own_box();
    const int m = v.runs.sources[unit.box];
    const int2 check = mutual.check[unit.box];
    if (m > 0 && check.x < check.y)
        loop.template later_boxes<true>(m);
    else if (m > 0)
        loop.template later_boxes<false>(m);
    loop.finish(mutual.sum);
}

template <Form form, bool value, bool slope, int dimension>
__global__ __launch_bounds__(32, mutual_resident) void mutual_kernel(SumView<Precision::fp32> v,
                                                                     MutualView mutual) {
    __shared__ float4 shared[2 * mutual_ring];
    const MutualUnit unit = mutual.unit[v.first + static_cast<int32_t>(blockIdx.x)];
    sum_unit<form, value, slope, dimension, mutual_most>(v, mutual, unit, shared);
}

template <Form form, int dimension>
void sum_mutual_of(backend::Queue& queue, const SumView<Precision::fp32>& view, const MutualView& mutual) {
    if (view.count == 0)
        return;
    const Results<float>& to = view.results;
    const bool value = to.potential[0] != nullptr;
    const bool slope =
        to.gradient[0][0] != nullptr || to.gradient[0][1] != nullptr || to.gradient[0][2] != nullptr;
    const auto launch = [&](auto kernel) {
        kernel<<<static_cast<unsigned>(view.count), 32, 0, queue.stream()>>>(view, mutual);
        GRAFT_CUDA_LAUNCHED("near field, pairs of boxes");
        ++queue.launches;
    };
    if (value && slope)
        launch(mutual_kernel<form, true, true, dimension>);
    else if (slope)
        launch(mutual_kernel<form, false, true, dimension>);
    else
        launch(mutual_kernel<form, true, false, dimension>);
}

} // namespace graft::near
