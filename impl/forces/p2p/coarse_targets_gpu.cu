// SPDX-License-Identifier: BSD-3-Clause
// Targets of a tree's groups that the frame of their group is too coarse for (frame_resolution.hpp): their
// pairs are summed in double, as the CPU sums those of all targets of such a group. Cells that stand that near to a group
// stop the computation, which is then done in double.
//
// Looked for and summed beside the units, which know nothing of them: what these give such a target is left
// out where slots are gathered. Ordinary groups have none. Where the targets are the sources, a warp compares one
// number a target, its place along a slanted line, with those of its neighbours in target order; where numbers are
// close, that along another line, too; and only where both are, places. Of other targets (some particles, points,
// sources of other ranks) each looks at the leaves of its group's list that come near it. Sums: a block shares the
// sources of a group's list, two targets of a warp at a time, parts added in order.
// Cost: a read of the targets' places, 24 B each, and of the centres of a group's near cells, 24 B; other groups read the
// boxes of their list, 48 B a leaf; 32 pairs of a coarse target in 33 cycles of the FP64 pipe.
#include "forces/field_gpu.cuh"
#include "forces/p2p/pair_exact_gpu.cuh"
#include "forces/source_tiles_gpu.cuh"
#include "forces/frame_resolution_gpu.cuh"

namespace graft::forces {

namespace {

constexpr int warps = 8;

/// How pairs are softened.
struct Rule {
    bool softened, each, one_plummer; // at all; a length of each particle; r^2 has one number added
    bool potential;
};

__device__ int lane_of_thread() {
    return static_cast<int>(threadIdx.x % 32);
}
__device__ int warp_of_thread() {
    return static_cast<int>(threadIdx.x / 32);
}

/// A target's place along two lines, frame units: no further than twice the largest coordinate.
struct Lines {
    float first, second;
};

/// Infinity: there is no such target.
__device__ Lines places_on_lines(const EvaluationView& v, const GroupFrame& frame, int64_t k) {
    if (k < 0 || k >= v.target_count)
        return {INFINITY, INFINITY};
    const auto along = [&](const double* at, int axis) {
        return static_cast<float>(fma(at[k], frame.scale, -frame.centre[axis]));
    };
    const float x = along(v.target_x, 0), y = along(v.target_y, 1), z = along(v.target_z, 2);
    return {fmaf(z, 0.377f, fmaf(y, 0.618f, x)), fmaf(x, -0.618f, fmaf(y, 0.377f, z))};
}

/// body(value a lane gives, lane it takes one from) for each of the neighbours in order of a warp's targets;
/// lanes 0 ... 3 have behind.* of the targets behind the warp's, 28 ... 31 before.*
template <typename Body>
__device__ __forceinline__ void with_neighbours(const Lines& own, const Lines& before, const Lines& behind,
                                                Body&& body) {
    const int lane = lane_of_thread();
#pragma unroll
    for (int d = 1; d <= frame_neighbours; ++d) {
        body(lane < d ? behind : own, lane + d);
        body(lane >= 32 - d ? before : own, lane - d);
    }
}

/// Whether targets beside this lane's, in order, may be closer than the frame resolves: hardly ever, if not.
/// All lanes call.
__device__ __forceinline__ bool has_close(const Lines& own, const Lines& before, const Lines& behind) {
    static_assert(frame_neighbours <= 16);
    constexpr auto limit = static_cast<float>(2.01 * frame_resolution); // 1.995, and rounding
    float nearest = INFINITY;
    with_neighbours(own, before, behind, [&](const Lines& given, int from) {
        nearest = fminf(nearest, fabsf(__shfl_sync(whole_warp, given.first, from) - own.first));
    });
    if (!__any_sync(whole_warp, nearest < limit))
        return false;
    nearest = INFINITY;
    with_neighbours(own, before, behind, [&](const Lines& given, int from) {
        const float d1 = fabsf(__shfl_sync(whole_warp, given.first, from) - own.first),
                    d2 = fabsf(__shfl_sync(whole_warp, given.second, from) - own.second);
        nearest = fminf(nearest, fmaxf(d1, d2));
    });
    return nearest < limit;
}

/// The largest distance along an axis between boxes, one of which may be a place; 0: they meet.
__device__ double gap_between(const geometry::Box& a, const geometry::Box& b) {
    double gap = 0;
    for (int axis = 0; axis < 3; ++axis)
        gap = fmax(gap, fmax(a.lower[axis] - b.upper[axis], b.lower[axis] - a.upper[axis]));
    return gap;
}

/// Leaves of a group's list that come within `limit` of its box, a lane each: `own`, or -1. `all`: there are more,
/// and each target looks at the whole list.
struct NearLeaves {
    int32_t own = -1;
    bool all = false;
};

/// A warp.
__device__ NearLeaves leaves_near(const EvaluationView& v, int64_t g, double limit) {
    const geometry::Box box = batch_group(v, g).target.box;
    const int64_t end = v.leaf_offset[g + 1];
    const int lane = lane_of_thread();
    NearLeaves found;
    int count = 0; // the same in all lanes
    for (int64_t begin = v.leaf_offset[g]; begin < end && count <= 32; begin += 32) {
        const int32_t node = begin + lane < end ? v.leaf_list[begin + lane] : -1;
        const bool is_near = node >= 0 && gap_between(v.boxes[node], box) < limit;
        for (unsigned left = __ballot_sync(whole_warp, is_near); left != 0; left &= left - 1, ++count) {
            const int32_t next = __shfl_sync(whole_warp, node, __ffs(static_cast<int>(left)) - 1);
            found.own = lane == count ? next : found.own;
        }
    }
    found.all = count > 32;
    return found;
}

/// Whether a source of the leaves that the lanes have (-1: none) stands closer to `at` than `limit`, at another
/// place (a warp, which has one place).
__device__ bool is_near_leaves(const EvaluationView& v, int32_t own, const double (&at)[3], double limit) {
    const double* const axes[3] = {v.x, v.y, v.z};
    const geometry::Box place{{at[0], at[1], at[2]}, {at[0], at[1], at[2]}};
    const geometry::Box box = own >= 0 ? v.boxes[own] : geometry::Box{};
    const bool reached = own >= 0 && gap_between(box, place) < limit, one_place = box.longest_edge() <= 0;
    bool found = reached && one_place && gap_between(box, place) > 0; // all its particles are there
    for (unsigned left = __ballot_sync(whole_warp, reached && !one_place); left != 0; left &= left - 1) {
        const tree::Node leaf = v.nodes[__shfl_sync(whole_warp, own, __ffs(static_cast<int>(left)) - 1)];
        for (int32_t j = leaf.first + lane_of_thread(); j < leaf.first + leaf.count; j += 32) {
            double distance = 0;
            for (int a = 0; a < 3; ++a)
                distance = fmax(distance, fabs(axes[a][j] - at[a]));
            found |= distance > 0 && distance < limit;
        }
    }
    return __any_sync(whole_warp, found);
}

__device__ bool has_near_source(const EvaluationView& v, const NearLeaves& leaves, int64_t g, int64_t k, double limit) {
    const double at[3] = {v.target_x[k], v.target_y[k], v.target_z[k]};
    if (!leaves.all)
        return is_near_leaves(v, leaves.own, at, limit);
    const int64_t end = v.leaf_offset[g + 1];
    bool found = false;
    for (int64_t begin = v.leaf_offset[g]; begin < end && !found; begin += 32) {
        const int64_t e = begin + lane_of_thread();
        found = is_near_leaves(v, e < end ? v.leaf_list[e] : -1, at, limit);
    }
    return found;
}

/// Of targets that are not the sources: lanes whose target base + lane has a source closer than the frame resolves.
__device__ unsigned with_near_source(const EvaluationView& v, const GroupFrame& frame, const NearLeaves& leaves,
                                     int64_t g, int32_t base) {
    const int64_t first = int64_t{frame.first} + base;
    if (!leaves.all && !__any_sync(whole_warp, leaves.own >= 0))
        return 0;
    unsigned found = 0;
    for (unsigned left = __ballot_sync(whole_warp, base + lane_of_thread() < frame.count); left != 0;
         left &= left - 1) {
        const int of = __ffs(static_cast<int>(left)) - 1;
        found |= has_near_source(v, leaves, g, first + of, frame_resolution / frame.scale) ? 1u << of : 0u;
    }
    return found;
}

/// Whether target k needs double whatever is near it, or has a neighbour in order, where it may (`close`), that the
/// frame is too coarse for.
template <bool same_places>
__device__ bool is_coarse(const EvaluationView& v, const Rule& rule, const GroupFrame& frame, int64_t k,
                          bool close) {
    Frame place;
    place.scale = frame.scale;
    const double length = !rule.softened ? 0.0 : rule.each ? v.target_softening[k] : v.length;
    const auto sources = static_cast<int64_t>(v.charge_scale); // about
    if (rule.potential && loses_itself(place, length, rule.one_plummer, sources))
        return true;
    if constexpr (same_places)
        return close &&
               too_coarse(place, neighbour_gap({v.target_x, v.target_y, v.target_z, v.target_count}, k));
    else
        return close;
}

constexpr int ahead = 4; // times 32 targets

/// GroupFrame's bits of a lane's target base + lane.
template <bool same_places>
__device__ unsigned coarse_bits(const EvaluationView& v, const Rule& rule, const GroupFrame& frame, int32_t base,
                                int32_t count, bool close) {
    const int lane = lane_of_thread();
    const int32_t k = base + lane;
    const bool ask_each = rule.potential && rule.softened; // whether it loses itself
    const auto is_one = [&] { return is_coarse<same_places>(v, rule, frame, int64_t{frame.first} + k, close); };
    const bool coarse = k < count && (frame.all_coarse || ((close || ask_each) && is_one()));
    return coarse ? 1u << (k >> GroupFrame::coarse_shift(frame.count)) : 0u;
}

/// Of targets that are the sources: neighbours in order, whose loads are under way together.
__device__ unsigned coarse_by_order(const EvaluationView& v, const Rule& rule, const GroupFrame& frame, int32_t count) {
    const int lane = lane_of_thread();
    unsigned bits = 0;
    for (int32_t base = 0; base < count; base += 32 * ahead) {
        Lines at[ahead + 2]; // those before the first in front, those behind the last at the end
#pragma unroll
        for (int i = 0; i < ahead + 2; ++i) {
            const int32_t k = base + 32 * (i - 1) + lane;
            const bool wanted = k < count + frame_neighbours && (i > 0 || lane >= 32 - frame_neighbours) &&
                                (i <= ahead || lane < frame_neighbours);
            at[i] = places_on_lines(v, frame, wanted ? int64_t{frame.first} + k : -1);
        }
#pragma unroll
        for (int i = 1; i <= ahead; ++i)
            bits |= coarse_bits<true>(v, rule, frame, base + 32 * (i - 1), count,
                                      has_close(at[i], at[i - 1], at[i + 1]));
    }
    return bits;
}

/// Of others.
__device__ unsigned coarse_by_sources(const EvaluationView& v, const Rule& rule, const GroupFrame& frame, int64_t g,
                                      int32_t count) {
    if (count == 0)
        return 0;
    const NearLeaves leaves = leaves_near(v, g, frame_resolution / frame.scale);
    unsigned bits = 0;
    for (int32_t base = 0; base < count; base += 32) {
        const unsigned near = with_near_source(v, frame, leaves, g, base);
        bits |= coarse_bits<false>(v, rule, frame, base, count, (near >> lane_of_thread() & 1) != 0);
    }
    return bits;
}

/// Whether the centre of a cell that meets the group's targets one by one is closer to their box than `least` along every
/// axis: small cells beside a group that is wide. A lane's share of the cells.
__device__ bool has_near_cell(const EvaluationView& v, int64_t g, double least) {
    const geometry::Box& box = batch_group(v, g).target.box;
    const int32_t* const list = v.node_list + v.node_offset[g];
    const int64_t count = near_cells(v, g);
    bool found = false;
    for (int64_t e = lane_of_thread(); e < count; e += 32) {
        const int32_t node = list[e];
        const geometry::Box centre{{v.cx[node], v.cy[node], v.cz[node]}, {v.cx[node], v.cy[node], v.cz[node]}};
        found |= gap_between(centre, box) < least;
    }
    return found;
}

/// GroupFrame::coarse of the batch's groups, a warp each.
template <bool same_places>
__global__ void __launch_bounds__(32 * warps, 4)
    find_kernel(const EvaluationView v, const Rule rule, GroupFrame* frames) {
    const int64_t g = int64_t{blockIdx.x} * warps + warp_of_thread();
    if ((g >= batch_group_count(v)) | backend::stopped(v.status))
        return;
    const GroupFrame frame = frames[g];
    if (has_near_cell(v, g, frame_resolution / frame.scale))
        backend::stop_with(v.status, needs_double);
    const int32_t count = frame.pairs.total > 0 ? frame.count : 0;
    unsigned bits = 0;
    if constexpr (same_places)
        bits = coarse_by_order(v, rule, frame, count);
    else
        bits = coarse_by_sources(v, rule, frame, g, count);
    bits = __reduce_or_sync(whole_warp, bits);
    if (bits != 0 && lane_of_thread() == 0)
        frames[g].coarse = bits;
}

/// Sums over some of a group's sources at its targets first + lane of the lanes in `targets`, frame units, to
/// `sum`, a row a lane (a warp).
template <DevicePair kind>
__device__ void sum_part(const EvaluationView& v, bool plummer, const SourceList& list, const Unit& part,
                         double scale, int64_t first, unsigned targets, double (&sum)[32][4]) {
    constexpr int lanes = 2, rows = 2; // targets together; of 32 sources
    const int lane = lane_of_thread();
    const auto term = [&](const double* lengths, int64_t k) {
        const double length = (lengths != nullptr ? lengths[k] : v.length) * scale;
        return kind == DevicePair::plummer ? 0.5 * length * length : length;
    };
    while (targets != 0) {
        int of[lanes];
        double x[lanes], y[lanes], z[lanes], soft[lanes];
        PairSum<double> own[lanes] = {};
#pragma unroll
        for (int t = 0; t < lanes; ++t) {
            of[t] = targets != 0 ? __ffs(static_cast<int>(targets)) - 1 : of[0];
            targets &= targets - 1;
            const int64_t k = first + of[t];
            x[t] = v.target_x[k], y[t] = v.target_y[k], z[t] = v.target_z[k];
            soft[t] = kind == DevicePair::constant ? common_soft<double>(plummer, v.length, scale)
                                                   : term(v.target_softening, k);
        }
        SourceCursor cursor(list, part);
        for (int32_t begin = part.begin; begin < part.end; begin += 32 * rows) {
            int32_t index[rows];
            cursor.next(begin, index);
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                const bool heap = is_heap(index[r]),
                           none = index[r] < no_source || begin + 32 * r + lane >= part.end;
                const int64_t node = heap ? -2 - index[r] : 0;
                const int64_t j = heap ? v.nodes[node].first : max(index[r], 0);
                const double charge = heap ? v.values[node * v.terms] : v.charge[j];
                const double q = none ? 0 : charge * v.charge_scale;
                const double of_source = kind == DevicePair::constant ? 0 : term(v.softening, j);
#pragma unroll
                for (int t = 0; t < lanes; ++t)
                    add_softened<kind, true>((v.x[j] - x[t]) * scale, (v.y[j] - y[t]) * scale,
                                             (v.z[j] - z[t]) * scale, q, soft[t], of_source, own[t]);
            }
        }
        for (int t = 0; t < lanes; ++t) {
            const double all[4] = {add_parts(own[t].x, 1), add_parts(own[t].y, 1), add_parts(own[t].z, 1),
                                   add_parts(own[t].potential, 1)};
            if (lane < 4)
                sum[of[t]][lane] = lane == 0 ? all[0] : lane == 1 ? all[1] : lane == 2 ? all[2] : all[3];
        }
    }
    __syncwarp();
}

/// What a block shares.
struct Sums {
    unsigned groups[warps];    // that have coarse targets, a bit each
    double part[warps][32][4]; // a warp's part of the sources
};

/// Part number `part` of the group's sources, of as many as there are warps.
__device__ Unit part_of_sources(const SourceList& list, const GroupFrame& frame, int64_t g, int part) {
    const int32_t total = frame.pairs.total, share = (total / warps / 64 + 1) * 64;
    const int32_t begin = min(total, part * share);
    return {static_cast<int32_t>(g), begin, min(total, begin + share),
            find_entry(list.entries, list.count, static_cast<uint32_t>(begin)), 0};
}

/// The pairs of a group's targets base + lane that are coarse, to the field (a block).
template <DevicePair kind>
__device__ void sum_targets(const EvaluationView& v, const UnitView& units, bool plummer, int64_t g,
                            int32_t base, const FieldPointers& field, Sums& sums) {
    const GroupFrame& frame = units.frames[g];
    const int warp = warp_of_thread(), lane = lane_of_thread();
    const unsigned targets =
        __ballot_sync(whole_warp, base + lane < frame.count && frame.is_coarse(base + lane));
    if (targets == 0)
        return;
    Unit part{static_cast<int32_t>(g), 0, 0, 0, 0};
    const SourceList list = source_list(v, units.entries, part);
    part = part_of_sources(list, frame, g, warp);
    const int64_t first = int64_t{frame.first} + base;
    sum_part<kind>(v, plummer, list, part, frame.scale, first, targets, sums.part[warp]);
    __syncthreads();
    if (warp == 0 && (targets >> lane & 1) != 0) {
        double sum[4] = {0, 0, 0, 0};
        for (int w = 0; w < warps; ++w)
            for (int c = 0; c < 4; ++c)
                sum[c] += sums.part[w][lane][c];
        const Unscale unscale(field, frame);
        field.put(field.place_of(first + lane), sum, unscale.square, unscale.inverse, field.add);
    }
    __syncthreads();
}

/// Threads look at a group each, the block sums those that have coarse targets.
template <DevicePair kind>
__global__ void __launch_bounds__(32 * warps, 2)
    sum_kernel(const EvaluationView v, const UnitView units, bool plummer, const FieldPointers field) {
    __shared__ Sums sums;
    if (backend::stopped(v.status))
        return;
    const int64_t groups = batch_group_count(v), blocks = gridDim.x;
    for (int64_t begin = blockIdx.x; begin < groups; begin += blocks * 32 * warps) {
        const int64_t own = begin + threadIdx.x * blocks;
        const bool any = own < groups && units.frames[own].coarse != 0;
        if (!__syncthreads_or(any))
            continue;
        const unsigned mine = __ballot_sync(whole_warp, any);
        if (lane_of_thread() == 0)
            sums.groups[warp_of_thread()] = mine;
        __syncthreads();
        for (int w = 0; w < warps; ++w)
            for (unsigned left = sums.groups[w]; left != 0; left &= left - 1) {
                const int64_t g = begin + (32 * w + __ffs(static_cast<int>(left)) - 1) * blocks;
                for (int32_t base = 0; base < units.frames[g].count; base += 32)
                    sum_targets<kind>(v, units, plummer, g, base, field, sums);
            }
    }
}

} // namespace

void find_coarse(backend::Queue& queue, const EvaluationView& view, const PairVariant& variant,
                 int64_t group_capacity, GroupFrame* frames) {
    const Rule rule{variant.softening != Softening::none, variant.per_particle,
                    pair_kind(variant) == DevicePair::constant, variant.potential};
    const auto kernel = view.same_places ? find_kernel<true> : find_kernel<false>;
    kernel<<<backend::blocks_for(group_capacity, warps), 32 * warps, 0, queue.stream()>>>(view, rule, frames);
    GRAFT_CUDA_LAUNCHED("find_coarse");
    ++queue.launches;
}

void sum_coarse(backend::Queue& queue, const EvaluationView& view, const UnitView& units,
                const DeviceEvaluation& how, const int32_t* origin, DeviceField& field) {
    const auto kernel = [kind = pair_kind(how.pairs)] {
        return kind == DevicePair::constant  ? sum_kernel<DevicePair::constant>
               : kind == DevicePair::plummer ? sum_kernel<DevicePair::plummer>
                                             : sum_kernel<DevicePair::spline>;
    }();
    kernel<<<2u * queue.multiprocessors(), 32 * warps, 0, queue.stream()>>>(
        view, units, how.pairs.softening != Softening::none, FieldPointers(field, view, how, origin));
    GRAFT_CUDA_LAUNCHED("sum_coarse");
    ++queue.launches;
}

} // namespace graft::forces
