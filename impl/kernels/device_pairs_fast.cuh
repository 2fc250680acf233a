// The single-precision pair kernel without softening or with one Plummer length: 12 instruction slots a pair.
//
// With a = |q|^(-1/2) sign(q) per source and s' = a s, the distance a (s - x) is one multiply-add, and
//     q d / r^3 = d' / r'^3,   d' = s' - a x, r' = |a| r:
// 3 FMA for d', 3 for r'^2, a reciprocal root, 2 products for r'^-3 and 3 FMA for the sums: the charge costs
// nothing. But d' of a particle with itself is a rounding error and not zero; tiles of 32 sources that may
// hold a target therefore take the plain form (13 slots), in which a pair at distance zero adds exactly
// nothing. Potential: q / r = b / r' with b = |q|^(1/2) sign(q), one slot more.
#pragma once

#include "kernels/device_source_tiles.cuh"

namespace graft::kernels::fast_pairs {

inline constexpr float tiny_square = 1e-20f; // as kernels/ops.hpp
inline constexpr float far_away = 1e17f;     // where padding stands, without charge
inline constexpr int most_targets = most_targets_a_lane;

__device__ __forceinline__ float inverse_root(float x) {
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/// The particles of the next tile on their way to shared memory, each lane's own.
struct Queue {
    double x[32], y[32], z[32];
    float size[32];

    /// Begins to read; no_source and heaps read particle 0.
    __device__ __forceinline__ void ask(const EvaluationView& v, int32_t index) {
        const int lane = threadIdx.x % 32;
        const int64_t i = max(index, 0);
        __pipeline_memcpy_async(&x[lane], v.x + i, 8);
        __pipeline_memcpy_async(&y[lane], v.y + i, 8);
        __pipeline_memcpy_async(&z[lane], v.z + i, 8);
        __pipeline_memcpy_async(&size[lane], v.size + i, 4);
        __pipeline_commit();
    }
};

template <bool potential>
struct Tile {
    float4 source[tile_items]; // plain: x y z q; scaled: s' and a
    float root_charge[potential ? tile_items : 1];
    Queue queue;
};

template <int T>
struct Lane {
    float x[T], y[T], z[T]; // minus the targets' places
    float ax[T], ay[T], az[T], p[T];
};

/// Particles whose tiles take the plain form: those of the group, or all.
struct Own {
    int32_t first;
    uint32_t count;

    __device__ Own(const EvaluationView& v, const GroupFrame& frame)
        : first(v.same_places ? frame.first : 0),
          count(v.same_places ? static_cast<uint32_t>(frame.count) : uint32_t{INT32_MAX} + 1) {}
    /// Whether the tile may hold a target or holds a heap (all lanes).
    __device__ __forceinline__ bool meets(int32_t index) const {
        const bool own = static_cast<uint32_t>(index - first) < count;
        return __any_sync(whole_warp, own | (index < no_source)); // no branches
    }
};

/// Stores this lane's source of the tile.
template <bool potential>
__device__ __forceinline__ void fill_tile(const EvaluationView& v, const GroupFrame& frame, int32_t index,
                                          bool plain, int place, Tile<potential>& tile) {
    __pipeline_wait_prior(0);
    const int lane = threadIdx.x % 32;
    const auto at = [&](const double* x, int a) {
        return static_cast<float>(fma(x[lane], frame.scale, -frame.centre[a]));
    };
    float4 item = make_float4(at(tile.queue.x, 0), at(tile.queue.y, 1), at(tile.queue.z, 2),
                              index < 0 ? 0.0f : tile.queue.size[lane]);
    if (!plain) {
        item.x = item.w != 0 ? item.x * item.w : far_away;
        item.y *= item.w, item.z *= item.w;
    } else if (index < no_source) {
        const FrameSource s = heap_source(v, frame, index);
        item = make_float4(static_cast<float>(s.x), static_cast<float>(s.y), static_cast<float>(s.z),
                           static_cast<float>(s.charge) * v.charge_scale_single);
    } else {
        item.w = item.w != 0 ? copysignf(1 / (item.w * item.w), item.w) : 0.0f;
    }
    __syncwarp();
    tile.source[place] = item;
    if constexpr (potential)
        tile.root_charge[place] = !plain && item.w != 0 ? 1 / item.w : 0.0f;
    __syncwarp();
}

template <int T, bool softened, bool potential, int step>
__device__ __forceinline__ void add_scaled(const float4* source, const float* root_charge, int part,
                                           float eps2, Lane<T>& lane) {
#pragma unroll 1
    for (int j = 0; j < part; j += step) {
#pragma unroll
        for (int u = 0; u < step; ++u) {
            const float4 s = source[j + u];
            const float b = potential ? root_charge[j + u] : 0.0f;
            const float soft = softened ? s.w * s.w * eps2 : tiny_square;
#pragma unroll
            for (int t = 0; t < T; ++t) {
                const float dx = fmaf(lane.x[t], s.w, s.x), dy = fmaf(lane.y[t], s.w, s.y),
                            dz = fmaf(lane.z[t], s.w, s.z);
                const float i = inverse_root(fmaf(dz, dz, fmaf(dy, dy, fmaf(dx, dx, soft))));
                const float i3 = i * i * i;
                lane.ax[t] = fmaf(i3, dx, lane.ax[t]);
                lane.ay[t] = fmaf(i3, dy, lane.ay[t]);
                lane.az[t] = fmaf(i3, dz, lane.az[t]);
                if constexpr (potential)
                    lane.p[t] = fmaf(i, b, lane.p[t]);
            }
        }
    }
}

template <int T, bool softened, bool potential>
__device__ __forceinline__ void add_plain(const float4* source, int part, float eps2, Lane<T>& lane) {
#pragma unroll 1
    for (int j = 0; j < part; ++j) {
        const float4 s = source[j];
#pragma unroll
        for (int t = 0; t < T; ++t) {
            const float dx = s.x + lane.x[t], dy = s.y + lane.y[t], dz = s.z + lane.z[t];
            const float r2 = fmaf(dz, dz, fmaf(dy, dy, fmaf(dx, dx, softened ? eps2 : tiny_square)));
            const float i = inverse_root(r2);
            const float q_i = s.w * i, force = q_i * (i * i);
            lane.ax[t] = fmaf(force, dx, lane.ax[t]);
            lane.ay[t] = fmaf(force, dy, lane.ay[t]);
            lane.az[t] = fmaf(force, dz, lane.az[t]);
            if constexpr (potential)
                lane.p[t] += softened || r2 > tiny_square ? q_i : 0.0f;
        }
    }
}

/// T targets a lane, targets [first, first + count) of the group.
template <int T, bool softened, bool potential, int step>
__device__ __forceinline__ void run(const EvaluationView& v, const UnitView& units, const Unit& unit,
                                    const GroupFrame& frame, int first, int count, int part,
                                    Tile<potential>& tile) {
    const int place = threadIdx.x % part;
    Lane<T> lane;
#pragma unroll
    for (int t = 0; t < T; ++t) {
        const int64_t k = int64_t{frame.first} + first + min(place + t * part, count - 1);
        lane.x[t] = -static_cast<float>(fma(v.target_x[k], frame.scale, -frame.centre[0]));
        lane.y[t] = -static_cast<float>(fma(v.target_y[k], frame.scale, -frame.centre[1]));
        lane.z[t] = -static_cast<float>(fma(v.target_z[k], frame.scale, -frame.centre[2]));
        lane.ax[t] = lane.ay[t] = lane.az[t] = lane.p[t] = 0;
    }
    const double length = v.length * frame.scale;
    const float eps2 = fmaxf(static_cast<float>(length * length), tiny_square);
    const int own = threadIdx.x % 32 / part * (part + 1); // this part's first item in the tile
    const int to = tile_place(threadIdx.x % 32, part);
    SourceCursor cursor(v, units.entries, unit);
    const Own targets(v, frame);
    int32_t index = cursor.next(unit.begin);
    tile.queue.ask(v, index);
    for (int32_t begin = unit.begin; begin < unit.end; begin += 32) {
        const bool plain = targets.meets(index);
        fill_tile<potential>(v, frame, index, plain, to, tile);
        if (begin + 32 < unit.end) {
            index = cursor.next(begin + 32);
            tile.queue.ask(v, index);
        }
        if (plain)
            add_plain<T, softened, potential>(tile.source + own, part, eps2, lane);
        else
            add_scaled<T, softened, potential, step>(
                tile.source + own, tile.root_charge + (potential ? own : 0), part, eps2, lane);
    }
    add_parts(part, lane.ax, lane.ay, lane.az);
    if constexpr (potential)
        add_parts(part, lane.p);
    auto* slots = static_cast<Slot<float>*>(units.slots) + unit.slot + first;
#pragma unroll
    for (int t = 0; t < T; ++t) {
        const int k = place + t * part;
        if (threadIdx.x < part && k < count)
            slots[k] = {lane.ax[t], lane.ay[t], lane.az[t], potential ? lane.p[t] : 0.0f};
    }
}

/// most: targets a lane; step: sources in a turn of the inner loop, which must stay in the nearest
/// instruction cache.
template <bool softened, bool potential, int most = most_targets, int step = 4>
__global__ __launch_bounds__(32, 16) void kernel(EvaluationView v, UnitView units) {
    __shared__ Tile<potential> tile;
    if (backend::stopped(v.status))
        return;
    const auto total = units.counters->pairs();
    for (unsigned u = take_unit(&units.counters->next_pair); u < total;
         u = take_unit(&units.counters->next_pair)) {
        const Unit unit = units.pairs[u];
        const GroupFrame frame = units.frames[unit.group];
        for (int first = 0; first < frame.count; first += 32 * most) {
            const int count = min(32 * most, frame.count - first);
            const int part = part_lanes(count, most);
            with_targets_a_lane<most>((count + part - 1) / part, [&]<int T>() {
                run<T, softened, potential, step>(v, units, unit, frame, first, count, part, tile);
            });
        }
    }
}

template <bool softened, bool potential>
void launch(backend::Queue& queue, const EvaluationView& view, const UnitView& units) {
    static const unsigned per_device = resident_blocks(queue, kernel<softened, potential>, 32);
    kernel<softened, potential><<<per_device, 32, 0, queue.stream()>>>(view, units);
    GRAFT_CUDA_LAUNCHED("fast pairs");
    ++queue.launches;
}

} // namespace graft::kernels::fast_pairs
