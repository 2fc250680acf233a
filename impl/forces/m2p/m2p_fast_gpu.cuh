// SPDX-License-Identifier: BSD-3-Clause
// The single-precision cell kernel of order 2 for charges of one sign: 30 instruction slots a cell.
//
// With a = |q|^(-1/2), d' = a (c - x) and i' = 1 / |d'| (softened: |d'|^2 + a^2 eps^2) the charge is 1, as in
// p2p_fast_gpu.cuh. With Q' the packed quadrupole, C' the trace term and
//     t = Q' d',   h = i'^2 (d' t + 2 C'):
//     acceleration = (i'^3 + 5/2 h i'^5) d' - i'^5 t,
//     potential    = b (i' + h i'^3 / 2).
// This is moments/expansion.hpp with its factors multiplied out. A multiple of the unit matrix may be taken
// off Q': with z = Q'_zz and Q'' = Q' - z 1, t'' = t - z d' has a product less, and with h'' = h - z
// (softened: where C' gets - z a^2 eps^2 / 2)
//     acceleration = (i'^3 + (5/2 h'' + 3/2 z) i'^5) d' - i'^5 t'',
//     potential    = b (i' + (h'' + z) i'^3 / 2).
// Slots: 3 FMA for d', 3 for r'^2, the root, 3 products for i'^2, i'^3 and i'^5, 8 for t'', 3 for d' t'',
// 1 for h'', 2 for the factor of d', 6 for the sums.
#pragma once

#include "forces/m2p/cell_queue_gpu.cuh"
#include "forces/m2p/m2p_gpu.cuh"
#include "forces/source_tiles_gpu.cuh"
#include "forces/vector_ops_gpu.cuh"

namespace graft::forces::fast_cells {

inline constexpr float far_away = 1e17f;
/// A lane; eight would leave too few registers. Groups that would have eight have four in twice the lanes, so
/// that a class of tasks has one kind of loop all the same.
inline constexpr int most_targets = most_targets_a_lane - 1;

struct Tile {
    float4 place[tile_items]; // a c, a
    float4 first[tile_items]; // of Q'': xx xy xz yy
    float4 rest[tile_items];  // yz, 3/2 z, 2 C'', b
    CellQueue queue;          // the next tile's, on their way
    // Of the task; registers are for targets.
    Task task;
    GroupFrame frame;
    const int32_t* list; // the group's cells
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

/// Stores this lane's cell of the tile, that was asked for; returns whether any has a quadrupole (all lanes).
template <bool softened>
__device__ __forceinline__ bool fill_tile(int32_t node, float eps2, int to, Tile& tile) {
    const GroupFrame& frame = tile.frame;
    float4 place = make_float4(far_away, far_away, far_away, 0), first = make_float4(0, 0, 0, 0),
           rest = first;
    const PackedCell cell = tile.queue.take();
    if (node >= 0) {
        if (cell.a != 0) {
            place =
                make_float4(static_cast<float>(fma(cell.x, frame.scale, -frame.centre[0])) * cell.a,
                            static_cast<float>(fma(cell.y, frame.scale, -frame.centre[1])) * cell.a,
                            static_cast<float>(fma(cell.z, frame.scale, -frame.centre[2])) * cell.a, cell.a);
            // So far, or softened so far, that the quadrupole is nothing: its products would leave float.
            const float distance = fmaxf(fabsf(place.x), fmaxf(fabsf(place.y), fabsf(place.z)));
            const bool in_range = distance < 3e8f && (!softened || cell.a * cell.a * eps2 < 9e16f);
            const float task = in_range ? square_of_power(cell.exponent + frame.exponent) : 0.0f;
            const float* q = cell.quadrupole;
            const float zz = q[5] * task;
            first = make_float4((q[0] - q[5]) * task, q[1] * task, q[2] * task, (q[3] - q[5]) * task);
            rest = make_float4(q[4] * task, 1.5f * zz,
                               softened ? eps2 * (2 * task * cell.trace - cell.a * cell.a * zz) : 0.0f,
                               cell.root_charge);
        }
    }
    const bool flat = first.x == 0 && first.y == 0 && first.z == 0 && first.w == 0 && rest.x == 0 &&
                      rest.y == 0 && rest.z == 0;
    __syncwarp();
    tile.place[to] = place, tile.first[to] = first, tile.rest[to] = rest;
    __syncwarp();
    return __any_sync(whole_warp, !flat);
}

/// d' and t'' of a cell and T targets.
template <int T>
struct Products {
    float x[T], y[T], z[T], tx[T], ty[T], tz[T];
};

/// The products with one operand in a row, for all targets: that operand is read once
/// (p2p_fast_gpu.cuh).
template <int T>
__device__ __forceinline__ void multiply_out(const float4& s, const float4& q, float yz, const Lane<T>& lane,
                                             Products<T>& to) {
    const auto each = [](auto&& body) {
#pragma unroll
        for (int t = 0; t < T; ++t)
            body(t);
    };
    each([&](int t) { to.x[t] = fmaf(lane.x[t], s.w, s.x); });
    each([&](int t) { to.y[t] = fmaf(lane.y[t], s.w, s.y); });
    each([&](int t) { to.z[t] = fmaf(lane.z[t], s.w, s.z); });
    each([&](int t) { to.tx[t] = q.x * to.x[t]; });
    each([&](int t) { to.ty[t] = q.y * to.x[t]; });
    each([&](int t) { to.tz[t] = q.z * to.x[t]; });
    each([&](int t) { to.tx[t] = fmaf(q.y, to.y[t], to.tx[t]); });
    each([&](int t) { to.ty[t] = fmaf(q.w, to.y[t], to.ty[t]); });
    each([&](int t) { to.tz[t] = fmaf(yz, to.y[t], to.tz[t]); });
    each([&](int t) { to.tx[t] = fmaf(q.z, to.z[t], to.tx[t]); });
    each([&](int t) { to.ty[t] = fmaf(yz, to.z[t], to.ty[t]); });
}

/// Without a quadrupole. Two roundings instead of one: what both branches have in common would be drawn out
/// of the block that multiply_out() is.
template <int T>
__device__ __forceinline__ void multiply_out_flat(const float4& s, const Lane<T>& lane, Products<T>& to) {
#pragma unroll
    for (int t = 0; t < T; ++t) {
        to.x[t] = __fadd_rn(__fmul_rn(lane.x[t], s.w), s.x);
        to.y[t] = __fadd_rn(__fmul_rn(lane.y[t], s.w), s.y);
        to.z[t] = __fadd_rn(__fmul_rn(lane.z[t], s.w), s.z);
        to.tx[t] = to.ty[t] = to.tz[t] = 0;
    }
}

template <int T, bool softened, bool potential>
__device__ __forceinline__ void add_cells(const Tile& tile, int own, int part, bool flat, float eps2,
                                          Lane<T>& lane) {
#pragma unroll 1 // the loop must stay in the nearest instruction cache
    for (int j = own; j < own + part; ++j) {
        const float4 s = tile.place[j];
        const float b = potential ? tile.rest[j].w : 0.0f;
        const float soft = softened ? s.w * s.w * eps2 : pair_tiny<float>();
        Products<T> product;
        float z = 0, trace = 0;
        int form = flat;
        asm volatile("" : "+r"(form)); // or there would be two loops, each a single block
        if (form != 0) {
            multiply_out_flat(s, lane, product);
        } else {
            const float4 q = tile.first[j], r = tile.rest[j];
            z = r.y, trace = r.z;
            multiply_out(s, q, r.x, lane, product);
        }
        const float third = z * (1.0f / 3);
#pragma unroll
        for (int t = 0; t < T; ++t) {
            const float dx = product.x[t], dy = product.y[t], dz = product.z[t];
            const float tx = product.tx[t], ty = product.ty[t], tz = product.tz[t];
            const float i = root_estimate(fmaf(dz, dz, fmaf(dy, dy, fmaf(dx, dx, soft))));
            const float i2 = i * i, i3 = i * i2, i5 = i3 * i2;
            const float along = softened ? fmaf(dz, tz, fmaf(dy, ty, fmaf(dx, tx, trace)))
                                         : fmaf(dz, tz, fmaf(dy, ty, dx * tx));
            const float h = i2 * along;
            const float c = fmaf(fmaf(2.5f, h, z), i5, i3);
            lane.ax[t] = fmaf(-i5, tx, lane.ax[t]);
            lane.ay[t] = fmaf(-i5, ty, lane.ay[t]);
            lane.az[t] = fmaf(-i5, tz, lane.az[t]);
            lane.ax[t] = fmaf(c, dx, lane.ax[t]);
            lane.ay[t] = fmaf(c, dy, lane.ay[t]);
            lane.az[t] = fmaf(c, dz, lane.az[t]);
            if constexpr (potential)
                lane.p[t] = fmaf(b, fmaf(fmaf(0.5f, h, third), i3, i), lane.p[t]);
        }
    }
}

/// T targets a lane, targets [first, first + count) of the group.
template <int T, bool softened, bool potential>
__device__ __forceinline__ void run(const EvaluationView& v, const TaskView& tasks, const PackedCell* cells,
                                    int first, int count, int part, Tile& tile) {
    const GroupFrame& frame = tile.frame;
    const int place = threadIdx.x % part;
    Lane<T> lane;
#pragma unroll
    for (int t = 0; t < T; ++t) {
        const int64_t k = int64_t{frame.first} + first + min(place + t * part, count - 1);
        lane.x[t] = -static_cast<float>(fma(v.targets.x[k], frame.scale, -frame.centre[0]));
        lane.y[t] = -static_cast<float>(fma(v.targets.y[k], frame.scale, -frame.centre[1]));
        lane.z[t] = -static_cast<float>(fma(v.targets.z[k], frame.scale, -frame.centre[2]));
        lane.ax[t] = lane.ay[t] = lane.az[t] = lane.p[t] = 0;
    }
    const double length = v.softening.length * frame.scale;
    const float eps2 = fmaxf(static_cast<float>(length * length), pair_tiny<float>());
    const int own = threadIdx.x % 32 / part * (part + 1); // this part's first item in the tile
    const int to = tile_place(threadIdx.x % 32, part);
    const auto node_at = [&](int32_t begin) {
        const int32_t e = begin + static_cast<int32_t>(threadIdx.x % 32);
        return e < tile.task.end ? tile.list[e] : -1;
    };
    int32_t node = node_at(tile.task.begin), following = node_at(tile.task.begin + 32);
    tile.queue.ask(cells, node);
    for (int32_t begin = tile.task.begin; begin < tile.task.end; begin += 32) {
        const bool any = fill_tile<softened>(node, eps2, to, tile);
        node = following;
        if (begin + 32 < tile.task.end) {
            tile.queue.ask(cells, node);
            following = node_at(begin + 64);
        }
        add_cells<T, softened, potential>(tile, own, part, !any, eps2, lane);
    }
    add_parts(part, lane.ax, lane.ay, lane.az);
    if constexpr (potential)
        add_parts(part, lane.p);
    auto* slots = static_cast<Slot<float>*>(tasks.slots) + tile.task.slot + first;
#pragma unroll
    for (int t = 0; t < T; ++t) {
        const int k = place + t * part;
        if (threadIdx.x < part && k < count)
            slots[k] = {lane.ax[t], lane.ay[t], lane.az[t], potential ? lane.p[t] : 0.0f};
    }
}

template <bool softened, bool potential, int most = most_targets>
__global__ __launch_bounds__(32, most > 6 ? 16 : 20) void kernel(EvaluationView v, TaskView tasks,
                                                                 const PackedCell* cells,
                                                                 const ChargeSigns* signs) {
    __shared__ Tile tile;
    if (backend::stopped(v.status) || signs->one_sign == 0)
        return;
    const auto total = tasks.counters->cells();
    for (unsigned u = take_task(&tasks.counters->next_cell); u < total;
         u = take_task(&tasks.counters->next_cell)) {
        const Task& task = tasks.cells[u];
        __syncwarp();
        copy_to_shared(task, tile.task), copy_to_shared(tasks.frames[task.group], tile.frame);
        if (threadIdx.x % 32 == 0)
            tile.list = v.lists.nodes + v.lists.node_offset[task.group];
        __syncwarp();
        const int all = tile.frame.count;
        for (int first = 0; first < all; first += 32 * most) {
            const int count = min(32 * most, all - first);
            const int part = part_lanes(count, most);
            with_targets_a_lane<most>((count + part - 1) / part, [&]<int T>() {
                run<T, softened, potential>(v, tasks, cells, first, count, part, tile);
            });
        }
    }
}

template <bool softened, bool potential>
void launch(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks, const PackedCell* cells,
            const ChargeSigns* signs) {
    static const unsigned blocks = resident_blocks(queue, kernel<softened, potential>, 32);
    kernel<softened, potential><<<blocks, 32, 0, queue.stream()>>>(view, tasks, cells, signs);
    GRAFT_CUDA_LAUNCHED("fast cells");
    ++queue.launches;
}

} // namespace graft::forces::fast_cells
