// SPDX-License-Identifier: BSD-3-Clause
// The bodies of tile_gpu.cuh; included by the files that instantiate them.
//
// Slots a pair, laplace in fp32: 3 differences, 3 for r^2, MUFU.RSQ, 3 products, 1 + 3 sums = 14 with
// potential and gradient; + (LDS 1 + loop 1) / T. Differences are of the caller's coordinates, not of scaled
// ones, which would save a slot: close pairs would lose digits. mixed: coordinates about the unit's first
// target as sums of two floats.
#pragma once

#include "near/tiles/tile_gpu.cuh"

namespace graft::near {

inline constexpr unsigned all_lanes = ~0u;

__device__ __forceinline__ Point<float> load_point(const Point<float>* p) {
    const float4 v = __ldg(reinterpret_cast<const float4*>(p));
    return {v.x, v.y, v.z, v.w};
}
__device__ __forceinline__ Point<double> load_point(const Point<double>* p) {
    const double2 a = __ldg(reinterpret_cast<const double2*>(p)),
                  b = __ldg(reinterpret_cast<const double2*>(p) + 1);
    return {a.x, a.y, b.x, b.y};
}

/// A place as pairs see it: plain, or about a centre in two floats.
template <Precision precision, int dimension>
struct Position {
    using Stored = typename Numbers<precision>::Stored;
    using Real = typename Numbers<precision>::Real;
    Real at[dimension];
    __device__ __forceinline__ void set(const Point<Stored>& p, const Point<Stored>&) {
        at[0] = p.x, at[1] = p.y;
        if constexpr (dimension == 3)
            at[2] = p.z;
    }
    __device__ __forceinline__ Real minus(const Position& other, int axis) const {
        return at[axis] - other.at[axis];
    }
};
template <int dimension>
struct Position<Precision::mixed, dimension> {
    float at[dimension], low[dimension];
    __device__ __forceinline__ void split(double v, int axis) {
        at[axis] = static_cast<float>(v);
        low[axis] = static_cast<float>(v - static_cast<double>(at[axis]));
    }
    __device__ __forceinline__ void set(const Point<double>& p, const Point<double>& centre) {
        split(p.x - centre.x, 0), split(p.y - centre.y, 1);
        if constexpr (dimension == 3)
            split(p.z - centre.z, 2);
    }
    __device__ __forceinline__ float minus(const Position& other, int axis) const {
        return (at[axis] - other.at[axis]) + (low[axis] - other.low[axis]);
    }
};

template <Precision precision, int components, int dimension>
struct alignas(16) TileSource {
    Position<precision, dimension> place;
    typename Numbers<precision>::Real charge[components];
};

/// Steps through a box's sources, `stride` at a time. run: the current one, of which pos is the next source.
struct TileCursor {
    const int2* run;
    int32_t k, m, stride, pos, end;
    __device__ __forceinline__ TileCursor(const int2* runs, int32_t first, int32_t count, int32_t step)
        : run(runs), k(first), m(count), stride(step), pos(0), end(0) {
        if (m > 0) {
            const int2 r = __ldg(run);
            pos = r.x + k, end = r.y;
            settle();
        }
    }
    __device__ __forceinline__ void settle() {
        while (pos >= end && k < m) {
            const int2 r = __ldg(++run);
            pos += r.x - end, end = r.y;
        }
    }
    __device__ __forceinline__ bool inside() const { return k < m; }
    __device__ __forceinline__ void advance() {
        k += stride, pos += stride;
        settle();
    }
};

template <Form form, Precision precision, int components, bool slope, int dimension, int T>
struct TileLoop {
    using View = SumView<precision>;
    using Stored = typename View::Stored;
    using Real = typename View::Real;
    using Source = TileSource<precision, components, dimension>;
    using Sum = TargetSum<form, precision, components, slope, dimension>;
    static constexpr bool unchecked = form == Form::laplace; // elsewhere the test is few slots of many
    /// A source as it was read.
    struct Raw {
        Point<Stored> point;
        Stored more[components];
    };

    const View& v;
    Point<Stored> centre;
    Position<precision, dimension> target[T];
    Sum sum[T];
    int32_t self, step_self; // k of target 0, and from target to target

    __device__ __forceinline__ Raw read(const TileCursor& cursor) const {
        Raw raw;
        raw.point = centre;
        raw.point.charge = 0;
        if constexpr (components > 1)
            for (int c = 0; c < components; ++c)
                raw.more[c] = 0;
        if (cursor.inside()) {
            raw.point = load_point(v.source + cursor.pos);
            if constexpr (components > 1)
#pragma unroll
                for (int c = 0; c < components; ++c)
                    if (c < v.components)
                        raw.more[c] =
                            __ldg(v.charge + (v.first_component + c) * v.charge_stride + cursor.pos);
        }
        return raw;
    }
    __device__ __forceinline__ Source prepare(const Raw& raw) const {
        Source s;
        s.place.set(raw.point, centre);
        if constexpr (components == 1) {
            s.charge[0] = static_cast<Real>(raw.point.charge);
        } else {
#pragma unroll
            for (int c = 0; c < components; ++c)
                s.charge[c] = static_cast<Real>(raw.more[c]);
        }
        return s;
    }
    template <bool checked>
    __device__ __forceinline__ void add(const Source& s, int32_t k) {
#pragma unroll
        for (int t = 0; t < T; ++t) {
            Real d[dimension], q[components];
#pragma unroll
            for (int axis = 0; axis < dimension; ++axis)
                d[axis] = s.place.minus(target[t], axis);
#pragma unroll
            for (int c = 0; c < components; ++c)
                q[c] = !checked || k != self + t * step_self ? s.charge[c] : Real(0);
            sum[t].template add<checked>(d, q, v.softening_square, v.constants);
        }
    }
    __device__ __forceinline__ void flush() {
#pragma unroll
        for (int t = 0; t < T; ++t)
            sum[t].flush();
    }

    /// Each lane its own sources; boxes side by side in the warp.
    __device__ __forceinline__ void direct(TileCursor cursor, int2 check) {
        const int32_t own_steps = (cursor.m + cursor.stride - 1) / cursor.stride;
        const int32_t steps = __reduce_max_sync(all_lanes, own_steps);
        Raw next = read(cursor);
#pragma unroll 1
        for (int32_t step = 0; step < steps; ++step) {
            const Source s = prepare(next);
            const int32_t k = cursor.k;
            const bool check_it = k >= cursor.m || (k >= check.x && k < check.y);
            cursor.advance();
            next = read(cursor);
            if (!unchecked || __any_sync(all_lanes, check_it))
                add<true>(s, k);
            else
                add<false>(s, k);
            if (Sum::two_levels && (step & 15) == 15)
                flush();
        }
    }

    /// 32 sources at a time through this warp's part of shared memory; one box a warp.
    __device__ __forceinline__ void shared(TileCursor cursor, int2 check, Source* tile, int part, int parts) {
        const int lane = threadIdx.x % 32;
        Raw next = read(cursor);
        for (int32_t base = 0; base < cursor.m; base += 32) {
            __syncwarp();
            tile[lane] = prepare(next);
            __syncwarp();
            cursor.advance();
            next = read(cursor);
            const bool partial = base + 32 > cursor.m;
            if (!unchecked || partial || (base < check.y && base + 32 > check.x)) {
                const int32_t last = min(32, cursor.m - base);
#pragma unroll 1
                for (int j = 0; j < last; j += parts)
                    add<true>(tile[j + part], base + j + part);
            } else {
#pragma unroll(T >= 6 ? 2 : 4)
                for (int j = 0; j < 32; j += parts)
                    add<false>(tile[j + part], 0);
            }
            if (Sum::two_levels && base % 128 == 96) // conversions cost 8 slots a sum
                flush();
        }
    }

    /// Adds the parts of the box's lanes, in a fixed order, and writes.
    __device__ __forceinline__ void finish(int log_p, int log_y, int part, int32_t first, int32_t count,
                                           int place, bool valid) {
        flush();
#pragma unroll 1
        for (int log = log_p; log < log_p + log_y; ++log)
#pragma unroll
            for (int t = 0; t < T; ++t)
#pragma unroll
                for (int c = 0; c < Sum::values; ++c)
                    sum[t].result(c) += __shfl_xor_sync(all_lanes, sum[t].result(c), 1 << log);
        if (!valid || part != 0)
            return;
#pragma unroll
        for (int t = 0; t < T; ++t) {
            const int32_t slot = first + place + (t << log_p);
            if (slot < first + count) {
                const int64_t at = v.boxes.target_index != nullptr ? v.boxes.target_index[slot] : slot;
#pragma unroll
                for (int c = 0; c < Sum::values; ++c)
                    write_result<components, dimension>(v.results, c, at, sum[t].result(c));
            }
        }
    }
};

template <Form form, Precision precision, int components, bool slope, int dimension, int T>
__device__ __forceinline__ void run_warp(const SumView<precision>& v, const TilesView& tiles,
                                         const TileWarp& warp,
                                         TileSource<precision, components, dimension>* tile) {
    TileLoop<form, precision, components, slope, dimension, T> loop{v};
    const int log_p = warp.log_target_lanes, log_y = warp.log_source_lanes, lane = threadIdx.x % 32;
    const int units = warp.units_and_kind & 127, sub = lane >> (log_p + log_y);
    const bool valid = sub < units, through_shared = warp.units_and_kind >= 128;
    const TileUnit unit = tiles.units[warp.first_unit + min(sub, units - 1)];
    const int place = lane & ((1 << log_p) - 1), part = (lane >> log_p) & ((1 << log_y) - 1);
    const int32_t box_begin = v.boxes.target_offset[unit.box], box_end = v.boxes.target_offset[unit.box + 1];
    const int32_t count = min(T << log_p, box_end - unit.first);
    loop.centre = load_point(v.target + unit.first);
    const int32_t own = v.runs.own_first != nullptr ? v.runs.own_first[unit.box] : -1;
    loop.step_self = 1 << log_p;
    loop.self = own < 0 ? INT32_MIN / 2 : own + unit.first - box_begin + place;
#pragma unroll
    for (int t = 0; t < T; ++t) {
        const Point<typename SumView<precision>::Stored> p =
            load_point(v.target + unit.first + min(place + (t << log_p), count - 1));
        loop.target[t].set(p, loop.centre);
        loop.sum[t].clear();
    }
    const int32_t m = valid ? v.runs.sources[unit.box] : 0;
    const int2* const run = v.runs.run + v.runs.offset[unit.box];
    const int2 check = tiles.check != nullptr ? tiles.check[unit.box] : make_int2(0, INT32_MAX);
    if (through_shared)
        loop.shared(TileCursor(run, lane, m, 32), check, tile, part, 1 << log_y);
    else
        loop.direct(TileCursor(run, part, m, 1 << log_y), check);
    loop.finish(log_p, log_y, part, unit.first, count, place, valid);
}

/// body.operator()<T>() for T = targets.
template <int most, bool every, typename Body>
__device__ __forceinline__ void with_tile_targets(int targets, Body&& body) {
    if constexpr (most == 1) {
        body.template operator()<1>();
    } else {
        if (targets == most)
            body.template operator()<most>();
        else
            with_tile_targets<every ? most - 1 : most / 2, every>(targets, body);
    }
}

inline constexpr int tile_threads = 128; // of a block, at most

template <Form form, Precision precision, int components, bool slope, int dimension>
__global__ __launch_bounds__(tile_threads) void sum_tiles_kernel(SumView<precision> v, TilesView tiles) {
    extern __shared__ char memory[];
    using Source = TileSource<precision, components, dimension>;
    constexpr int most = most_tile_targets(form, precision, components);
    constexpr bool every = every_tile_target(form, precision, components);
    const int32_t w = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (w >= v.count)
        return;
    Source* const tile = reinterpret_cast<Source*>(memory) + threadIdx.x / 32 * 32;
    const TileWarp warp = tiles.warps[v.first + w];
    with_tile_targets<most, every>(warp.targets, [&]<int T>() {
        run_warp<form, precision, components, slope, dimension, T>(v, tiles, warp, tile);
    });
}

template <Form form, Precision precision, int components, bool slope, int dimension>
void launch_tiles(backend::Queue& queue, const SumView<precision>& view, const TilesView& tiles,
                  int threads) {
    threads = threads > tile_threads ? tile_threads : threads;
    const int warps = threads / 32;
    const size_t bytes = static_cast<size_t>(threads) * sizeof(TileSource<precision, components, dimension>);
    sum_tiles_kernel<form, precision, components, slope, dimension>
        <<<backend::blocks_for(view.count, warps), threads, bytes, queue.stream()>>>(view, tiles);
    GRAFT_CUDA_LAUNCHED("near field, tiles");
    ++queue.launches;
}

template <Form form, Precision precision, int dimension>
void sum_tiles_of(backend::Queue& queue, bool gradient, const SumView<precision>& view,
                  const TilesView& tiles, int threads) {
    if (view.count == 0)
        return;
    if constexpr (form != Form::helmholtz)
        if (view.components == 1 && view.first_component == 0 && view.charge_stride == 0)
            return gradient ? launch_tiles<form, precision, 1, true, dimension>(queue, view, tiles, threads)
                            : launch_tiles<form, precision, 1, false, dimension>(queue, view, tiles, threads);
    if (view.components <= 2)
        return gradient ? launch_tiles<form, precision, 2, true, dimension>(queue, view, tiles, threads)
                        : launch_tiles<form, precision, 2, false, dimension>(queue, view, tiles, threads);
    gradient ? launch_tiles<form, precision, 4, true, dimension>(queue, view, tiles, threads)
             : launch_tiles<form, precision, 4, false, dimension>(queue, view, tiles, threads);
}

} // namespace graft::near
