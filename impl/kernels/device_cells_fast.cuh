// The single-precision cell kernel of order 2 for charges of one sign: 30 instruction slots a cell.
//
// With a = |q|^(-1/2), d' = a (c - x) and i' = 1 / |d'| (softened: |d'|^2 + a^2 eps^2) the charge is 1, as in
// device_pairs_fast.cuh. With t = Q' d', h = i'^2 (d' t + 2 C'), Q' the packed quadrupole and C' the trace
// term:
//     acceleration = (i'^3 + 5/2 h i'^5) d' - i'^5 t,    potential = b (i' + h i'^3 / 2).
// This is moments/expansion.hpp with its factors multiplied out. A multiple of the unit matrix may be taken
// off Q': with Q'' = Q' - z 1 and z = Q'_zz, t'' = t - z d' has a product less, h'' = h - z (softened: where
// C' gets - z a^2 eps^2 / 2), and
//     acceleration = (i'^3 + (5/2 h'' + 3/2 z) i'^5) d' - i'^5 t'',    potential = b (i' + (h'' + z) i'^3 /
//     2):
// 3 FMA d', 3 r'^2, root, 3 products i'^2, ^3, ^5, 8 for t'', 3 for d' t'', h'', 2 for the factor of d', 6
// for the sums.
#pragma once

#include "kernels/device_cells.cuh"
#include "kernels/device_source_tiles.cuh"

namespace graft::kernels::fast_cells {

inline constexpr float tiny_square = 1e-20f;
inline constexpr float far_away = 1e17f;
inline constexpr int most_targets = most_targets_a_lane;

__device__ __forceinline__ float inverse_root(float x) {
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

struct Tile {
    float4 place[tile_items]; // a c, a
    float4 first[tile_items]; // of Q'': xx xy xz yy
    float4 rest[tile_items];  // yz, 3/2 z, 2 C'', b
    PackedCell queue[32];     // the next tile's, on their way
};

template <int T>
struct Lane {
    float x[T], y[T], z[T]; // minus the targets' places
    float ax[T], ay[T], az[T], p[T];
};

/// 2^(2 e), e within float's range.
__device__ __forceinline__ float square_of_power(int e) {
    return __int_as_float((2 * min(max(e, -60), 60) + 127) << 23);
}

/// Begins to read this lane's cell of the next tile; -1: none.
__device__ __forceinline__ void ask(const PackedCell* cells, int32_t node, Tile& tile) {
    const auto* from = reinterpret_cast<const float4*>(cells + max(node, 0));
    auto* to = reinterpret_cast<float4*>(tile.queue + threadIdx.x % 32);
    for (int i = 0; i < 4; ++i)
        __pipeline_memcpy_async(to + i, from + i, 16);
    __pipeline_commit();
}

/// Stores this lane's cell of the tile, that was asked for.
template <bool softened>
__device__ __forceinline__ void fill_tile(const GroupFrame& frame, int32_t node, float eps2, int to,
                                          Tile& tile) {
    float4 place = make_float4(far_away, far_away, far_away, 0), first = make_float4(0, 0, 0, 0),
           rest = first;
    __pipeline_wait_prior(0);
    if (node >= 0) {
        const PackedCell& cell = tile.queue[threadIdx.x % 32];
        if (cell.a != 0) {
            place =
                make_float4(static_cast<float>(fma(cell.x, frame.scale, -frame.centre[0])) * cell.a,
                            static_cast<float>(fma(cell.y, frame.scale, -frame.centre[1])) * cell.a,
                            static_cast<float>(fma(cell.z, frame.scale, -frame.centre[2])) * cell.a, cell.a);
            // So far that the quadrupole is nothing: its products would leave float.
            const float distance = fmaxf(fabsf(place.x), fmaxf(fabsf(place.y), fabsf(place.z)));
            const float unit = distance < 3e8f ? square_of_power(cell.exponent + frame.exponent) : 0.0f;
            const float* q = cell.quadrupole;
            const float zz = q[5] * unit;
            first = make_float4((q[0] - q[5]) * unit, q[1] * unit, q[2] * unit, (q[3] - q[5]) * unit);
            rest = make_float4(q[4] * unit, 1.5f * zz,
                               softened ? eps2 * (2 * unit * cell.trace - cell.a * cell.a * zz) : 0.0f,
                               cell.root_charge);
        }
    }
    __syncwarp();
    tile.place[to] = place, tile.first[to] = first, tile.rest[to] = rest;
    __syncwarp();
}

template <int T, bool softened, bool potential>
__device__ __forceinline__ void add_cells(const Tile& tile, int own, int part, float eps2, Lane<T>& lane) {
#pragma unroll 1 // the loop must stay in the nearest instruction cache
    for (int j = own; j < own + part; ++j) {
        const float4 s = tile.place[j], q = tile.first[j], r = tile.rest[j];
        const float soft = softened ? s.w * s.w * eps2 : tiny_square;
        const float third = r.y * (1.0f / 3);
#pragma unroll
        for (int t = 0; t < T; ++t) {
            const float dx = fmaf(lane.x[t], s.w, s.x), dy = fmaf(lane.y[t], s.w, s.y),
                        dz = fmaf(lane.z[t], s.w, s.z);
            const float i = inverse_root(fmaf(dz, dz, fmaf(dy, dy, fmaf(dx, dx, soft))));
            const float i2 = i * i, i3 = i * i2, i5 = i3 * i2;
            const float tx = fmaf(q.z, dz, fmaf(q.y, dy, q.x * dx));
            const float ty = fmaf(r.x, dz, fmaf(q.w, dy, q.y * dx));
            const float tz = fmaf(r.x, dy, q.z * dx);
            const float along = softened ? fmaf(dz, tz, fmaf(dy, ty, fmaf(dx, tx, r.z)))
                                         : fmaf(dz, tz, fmaf(dy, ty, dx * tx));
            const float h = i2 * along;
            const float c = fmaf(fmaf(2.5f, h, r.y), i5, i3);
            lane.ax[t] = fmaf(c, dx, fmaf(-i5, tx, lane.ax[t]));
            lane.ay[t] = fmaf(c, dy, fmaf(-i5, ty, lane.ay[t]));
            lane.az[t] = fmaf(c, dz, fmaf(-i5, tz, lane.az[t]));
            if constexpr (potential)
                lane.p[t] = fmaf(r.w, fmaf(fmaf(0.5f, h, third), i3, i), lane.p[t]);
        }
    }
}

/// T targets a lane, targets [first, first + count) of the group.
template <int T, bool softened, bool potential>
__device__ __forceinline__ void run(const EvaluationView& v, const UnitView& units, const PackedCell* cells,
                                    const Unit& unit, const GroupFrame& frame, int first, int count, int part,
                                    Tile& tile) {
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
    const int32_t* list = v.node_list + v.node_offset[unit.group];
    const int32_t place_in_list = unit.begin + static_cast<int32_t>(threadIdx.x % 32);
    const auto node_at = [&](int32_t e) { return e < unit.end ? list[e] : -1; };
    int32_t node = node_at(place_in_list), following = node_at(place_in_list + 32);
    ask(cells, node, tile);
    for (int32_t e = place_in_list; e - place_in_list < unit.end - unit.begin; e += 32) {
        fill_tile<softened>(frame, node, eps2, to, tile);
        node = following;
        if (e - place_in_list + 32 < unit.end - unit.begin) {
            ask(cells, node, tile);
            following = node_at(e + 64);
        }
        add_cells<T, softened, potential>(tile, own, part, eps2, lane);
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

template <bool softened, bool potential, int most = most_targets>
__global__ __launch_bounds__(32, most > 6 ? 16 : 20) void kernel(EvaluationView v, UnitView units,
                                                                 const PackedCell* cells,
                                                                 const ChargeSigns* signs) {
    __shared__ Tile tile;
    if (backend::stopped(v.status) || signs->one_sign == 0)
        return;
    const auto total = units.counters->cells();
    for (unsigned u = take_unit(&units.counters->next_cell); u < total;
         u = take_unit(&units.counters->next_cell)) {
        const Unit unit = units.cells[u];
        const GroupFrame frame = units.frames[unit.group];
        for (int first = 0; first < frame.count; first += 32 * most) {
            const int count = min(32 * most, frame.count - first);
            const int part = part_lanes(count, most);
            with_targets_a_lane<most>((count + part - 1) / part, [&]<int T>() {
                run<T, softened, potential>(v, units, cells, unit, frame, first, count, part, tile);
            });
        }
    }
}

template <bool softened, bool potential>
void launch(backend::Queue& queue, const EvaluationView& view, const UnitView& units, const PackedCell* cells,
            const ChargeSigns* signs) {
    static const unsigned blocks = resident_blocks(queue, kernel<softened, potential>, 32);
    kernel<softened, potential><<<blocks, 32, 0, queue.stream()>>>(view, units, cells, signs);
    GRAFT_CUDA_LAUNCHED("fast cells");
    ++queue.launches;
}

} // namespace graft::kernels::fast_cells
