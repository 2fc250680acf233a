// SPDX-License-Identifier: BSD-3-Clause
// Tiles of a block: all threads of a block sum the targets of one box (tile_blocks_gpu.cuh).
//
// A box of n targets takes L = ceil(n / T) lanes, T targets to a lane in registers, and the block's threads
// are S = threads / L streams of them, which sum every S-th source each: any n fills the block but for its
// last T - 1 targets and threads mod L threads (4 to 6 % at 64 targets). Sources go to shared memory as they
// are, 16 bytes by asynchronous copies, a chunk while the one before is summed; each warp copies whole
// runs in turn, so that nobody looks for the run of a source. The streams' sums are added at the end in their
// order. Single precision and one charge only, where a point in memory is what a pair reads.
//
// Slots a pair, laplace: 14 with potential and gradient, 13 and 8 with one of them, + (LDS 1 + loop 3) / T.
// Staging, first and last steps: some 700 slots a warp and box, 3 % at 64 targets.
#pragma once

#include "near/radial.hpp"
#include "near/tiles/tile_blocks_gpu.cuh"

#include <cuda_pipeline.h>

namespace graft::near {

/// A kind of model::tile_blocks, how many blocks a multiprocessor is to hold at a time, and sources in one
/// half of the shared memory.
template <int kind_, int resident_, int chunk_>
struct BlockShape {
    static constexpr int kind = kind_, resident = resident_, chunk = chunk_;
    static constexpr int threads = tile_blocks[kind].threads, least = tile_blocks[kind].least,
                         most = tile_blocks[kind].most;
    static_assert(2 * chunk >= threads * most, "the sums of all streams take the place of the sources");
};
using BlockOfOneWarp = BlockShape<0, 25, 256>;
using BlockOfTwoWarps = BlockShape<1, 8, 512>;

__device__ __forceinline__ float4 load_block_point(const Point<float>* p) {
    static_assert(sizeof(Point<float>) == sizeof(float4));
    return __ldg(reinterpret_cast<const float4*>(p));
}

template <class Shape, Form form, bool value, bool slope, int dimension, int T>
struct BlockLoop {
    using View = SumView<Precision::fp32>;

    const View& v;
    int lanes, streams, stream, place; // L, S, and this thread's
    float of_streams;                  // 1 / S
    float target[T][dimension];
    PointSum<float, 1, dimension> sum[T];
    int32_t self; // k of target 0; target t is `lanes` t further

    /// floor(a / b) for 0 <= a < 2^20 and 1 / b rounded.
    static __device__ __forceinline__ int quotient(int a, float inverse) {
        return static_cast<int>((static_cast<float>(a) + 0.5f) * inverse);
    }
    __device__ __forceinline__ BlockLoop(const View& view, const TileBlock& block) : v(view) {
        lanes = (block.count + T - 1) / T;
        const float of_lanes = __frcp_rn(static_cast<float>(lanes));
        streams = quotient(Shape::threads, of_lanes), stream = quotient(threadIdx.x, of_lanes);
        place = threadIdx.x - stream * lanes;
        of_streams = __frcp_rn(static_cast<float>(streams));
        const int32_t own = v.runs.own_first != nullptr ? v.runs.own_first[block.box] : -1;
        self = own < 0 ? INT32_MIN / 2 : own + block.first - v.boxes.target_offset[block.box] + place;
#pragma unroll
        for (int t = 0; t < T; ++t) {
            const float4 p =
                load_block_point(v.target + block.first + min(place + t * lanes, block.count - 1));
            target[t][0] = p.x, target[t][1] = p.y;
            if constexpr (dimension == 3)
                target[t][2] = p.z;
            sum[t] = {};
        }
    }
    /// Rows of S sources that one turn of the loop takes: two where sums are few (8 % for potentials), one
    /// where the longer loop costs more than it saves.
    static constexpr int turn = value && slope ? 1 : 2;
    /// Sources of a chunk: whole turns.
    __device__ __forceinline__ int chunk() const {
        return quotient(Shape::chunk, of_streams) / turn * turn * streams;
    }
    __device__ __forceinline__ int rows_of(int sources) const {
        return (quotient(sources + streams - 1, of_streams) + turn - 1) / turn * turn;
    }

    template <bool checked>
    __device__ __forceinline__ void add(const float4& s, int32_t k) {
#pragma unroll
        for (int t = 0; t < T; ++t) {
            const float at[3] = {s.x, s.y, s.z};
            float d[dimension];
#pragma unroll
            for (int axis = 0; axis < dimension; ++axis)
                d[axis] = at[axis] - target[t][axis];
            const float q[1] = {!checked || k != self + t * lanes ? s.w : 0.0f};
            float r2 = v.softening_square;
#pragma unroll
            for (int axis = 0; axis < dimension; ++axis)
                r2 = forces::fused(d[axis], d[axis], r2);
            const DeviceOps<float, checked, slope && has_cube(form)> ops;
            add_charges<form, value, slope>(ops, d, q, radial<form, value, slope>(ops, r2, v.constants),
                                            sum[t]);
        }
    }
    /// `count` staged sources, k = begin ...; those in `check` may be where a target is.
    __device__ __forceinline__ void add_chunk(const float4* tile, int begin, int count, int2 check) {
        const int rows = rows_of(count);
        int first = min(max(quotient(max(check.x - begin, 0), of_streams) - 1, 0), rows) / turn * turn;
        int last = min(quotient(max(check.y - begin, 0), of_streams) + 2, rows);
        last = max((last + turn - 1) / turn * turn, first);
        if (check.y <= begin || check.x >= begin + count)
            first = last = rows;
        const float4* from = tile + stream;
#pragma unroll 1
        for (int part = 0; part < 2; ++part) { // before and behind them, by one loop
            const float4* const end = tile + stream + (part == 0 ? first : rows) * streams;
#pragma unroll 1
            for (; from < end; from += turn * streams) {
#pragma unroll
                for (int row = 0; row < turn; ++row)
                    add<false>(from[row * streams], 0);
            }
            if (part == 0) {
                int32_t k = begin + stream + first * streams;
                const float4* const checked_end = tile + stream + last * streams;
#pragma unroll 1
                for (; from < checked_end; from += streams, k += streams)
                    add<true>(*from, k);
            }
        }
    }
    __device__ __forceinline__ float4 result(int t) {
        float4 r = make_float4(sum[t].potential[0], 0, 0, 0);
        if constexpr (slope) {
            r.y = sum[t].gradient[0][0], r.z = sum[t].gradient[0][1];
            if constexpr (dimension == 3)
                r.w = sum[t].gradient[0][2];
        }
        return r;
    }
    /// Adds the streams' sums in their order, and writes. All threads.
    __device__ __forceinline__ void finish(const TileBlock& block, float4* shared) {
        const int row = lanes * T;
        if (stream < streams) {
#pragma unroll
            for (int t = 0; t < T; ++t)
                shared[stream * row + place + t * lanes] = result(t);
        }
        __syncthreads();
        for (int i = threadIdx.x; i < block.count; i += Shape::threads) {
            float4 all = shared[i];
#pragma unroll 4
            for (int s = 1; s < streams; ++s) {
                const float4 one = shared[s * row + i];
                all.x += one.x, all.y += one.y, all.z += one.z, all.w += one.w;
            }
            const int32_t slot = block.first + i;
            const int64_t at = v.boxes.target_index != nullptr ? v.boxes.target_index[slot] : slot;
            const float values[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
            for (int c = value ? 0 : 1; c < (slope ? 1 + dimension : 1); ++c)
                write_result<1, dimension>(v.results, c, at, values[c]);
        }
    }
};

/// Steps through a box's runs, a chunk at a time; the same in all threads.
template <int threads>
struct BlockRuns {
    const int2* run;
    int before = 0; // sources in the runs before `run`

    /// Begins to copy sources k = begin ... end - 1 to `tile`; calls follow each other. `run` is then that of
    /// the last one.
    __device__ __forceinline__ void copy(const Point<float>* source, int begin, int end, float4* tile) {
        constexpr int warps = threads / 32;
        for (int turn = threadIdx.x / 32;; ++turn) {
            const int2 r = __ldg(run);
            if (turn % warps == 0) {
                float4* const to = tile + (before - begin - r.x);
                const int last = min(r.y, r.x + end - before);
                for (int j = r.x + max(begin - before, 0) + static_cast<int>(threadIdx.x % 32); j < last;
                     j += 32)
                    __pipeline_memcpy_async(to + j, source + j, 16);
            }
            if (before + r.y - r.x >= end)
                return;
            before += r.y - r.x, ++run;
        }
    }
};

template <class Shape, Form form, bool value, bool slope, int dimension, int T>
__device__ __forceinline__ void run_block(const SumView<Precision::fp32>& v, const TileBlock& block,
                                          int2 check, float4* shared) {
    BlockLoop<Shape, form, value, slope, dimension, T> loop(v, block);
    const int m = v.runs.sources[block.box], chunk = loop.chunk();
    BlockRuns<Shape::threads> runs{v.runs.run + v.runs.offset[block.box]};
    const auto stage = [&](int begin, int half) {
        if (begin < m) {
            float4* const tile = shared + half * Shape::chunk;
            const int end = min(m, begin + chunk), full = loop.rows_of(end - begin) * loop.streams;
            runs.copy(v.source, begin, end, tile);
            const float4 p = load_block_point(v.source + (runs.run->x + end - 1 - runs.before));
            for (int k = end - begin + static_cast<int>(threadIdx.x); k < full; k += Shape::threads)
                tile[k] = make_float4(p.x, p.y, p.z, 0); // the last source again, without charge
        }
        __pipeline_commit();
    };
    stage(0, 0);
#pragma unroll 1
    for (int begin = 0, half = 0; begin < m; begin += chunk, half ^= 1) {
        stage(begin + chunk, half ^ 1);
        __pipeline_wait_prior(1);
        __syncthreads();
        if (loop.stream < loop.streams)
            loop.add_chunk(shared + half * Shape::chunk, begin, min(m - begin, chunk), check);
        __syncthreads();
    }
    loop.finish(block, shared);
}

/// run_block for T = block.targets, which is at most `most`.
template <class Shape, Form form, bool value, bool slope, int dimension, int most>
__device__ __forceinline__ void run_block_of(const SumView<Precision::fp32>& v, const TileBlock& block,
                                             int2 check, float4* shared) {
    if constexpr (most > Shape::least)
        if (block.targets < most)
            return run_block_of<Shape, form, value, slope, dimension, most - 1>(v, block, check, shared);
    run_block<Shape, form, value, slope, dimension, most>(v, block, check, shared);
}

template <class Shape, Form form, bool value, bool slope, int dimension>
__global__ __launch_bounds__(Shape::threads,
                             Shape::resident) void sum_blocks_kernel(SumView<Precision::fp32> v,
                                                                     const TileBlock* blocks,
                                                                     const int2* check) {
    __shared__ float4 shared[2 * Shape::chunk];
    const TileBlock block = blocks[blockIdx.x];
    run_block_of<Shape, form, value, slope, dimension, Shape::most>(v, block, check[block.box], shared);
}

template <class Shape, Form form, int dimension>
void launch_blocks(backend::Queue& queue, const SumView<Precision::fp32>& view, const TileBlock* blocks,
                   const int2* check) {
    const Results<float>& to = view.results;
    const bool value = to.potential[0] != nullptr;
    const bool slope =
        to.gradient[0][0] != nullptr || to.gradient[0][1] != nullptr || to.gradient[0][2] != nullptr;
    const auto launch = [&](auto kernel) {
        kernel<<<static_cast<unsigned>(view.count), Shape::threads, 0, queue.stream()>>>(view, blocks, check);
        GRAFT_CUDA_LAUNCHED("near field, blocks of tiles");
        ++queue.launches;
    };
    if (value && slope)
        launch(sum_blocks_kernel<Shape, form, true, true, dimension>);
    else if (slope)
        launch(sum_blocks_kernel<Shape, form, false, true, dimension>);
    else
        launch(sum_blocks_kernel<Shape, form, true, false, dimension>);
}

template <Form form, int dimension>
void sum_blocks_of(backend::Queue& queue, int32_t kind, const SumView<Precision::fp32>& view,
                   const TileBlock* blocks, const int2* check) {
    if (view.count > 0)
        kind == 0 ? launch_blocks<BlockOfOneWarp, form, dimension>(queue, view, blocks, check)
                  : launch_blocks<BlockOfTwoWarps, form, dimension>(queue, view, blocks, check);
}

} // namespace graft::near
