// SPDX-License-Identifier: BSD-3-Clause
// Targets of a tree's groups that the frame of their group is too coarse for (frame_resolution.hpp): their
// pairs are summed in double, as the CPU sums those of all targets of such a group. Cells that stand that near to a group
// stop the computation, which is then done in double.
//
// Looked for and summed beside the tasks, which know nothing of them: what these give such a target is left
// out where slots are gathered. Ordinary groups have none. A warp holds a group's targets against sources: where targets
// are the sources, against each other; a pair of two groups stands on two sides of a plane between cells, so who stands
// near one is held against the leaves about it. Other targets are held against the sources of the leaves that come near the
// group. First by one number each, the place along a slanted line; where numbers are close, by that along another line,
// too; and only where both are, by places. Sums: a block shares the sources of a group's list, two targets of a warp at a
// time, parts added in order.
// Cost: a read of the targets' places, 24 B each, of the centres of a group's near cells, 24 B; other groups, and targets near
// planes, read the boxes of their list, 48 B a leaf; 5 instruction slots for 32 sources and 64 targets; 32 pairs of a coarse
// target in 33 cycles of the FP64 pipe.
#include "forces/field_gpu.cuh"
#include "forces/p2p/pair_exact_gpu.cuh"
#include "forces/source_tiles_gpu.cuh"
#include "forces/frame_resolution.hpp"
#include "geometry/morton.hpp"

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

/// A place along two lines, frame units: no further than twice the largest coordinate. Infinity: there is none.
struct Lines {
    float first = INFINITY, second = INFINITY;
};

__device__ Lines place_on_lines(const GroupFrame& frame, double x, double y, double z) {
    const auto along = [&](double at, int axis) {
        return static_cast<float>(fma(at, frame.scale, -frame.centre[axis]));
    };
    const float u = along(x, 0), v = along(y, 1), w = along(z, 2);
    return {fmaf(w, 0.377f, fmaf(v, 0.618f, u)), fmaf(u, -0.618f, fmaf(v, 0.377f, w))};
}

constexpr int rows = 2; // of 32 targets, held against sources together

struct TargetRows {
    Lines at[rows];
    unsigned maybe = 0; // bit r: the one of row r may have a close source
};

/// Notes which targets may have one of 32 sources, one a lane, closer than the frame resolves. `own`: the row whose
/// targets are these sources, lane by lane; no such row: none is. All lanes call.
__device__ __forceinline__ void hold_against(const Lines& sources, int own, TargetRows& targets) {
    constexpr auto limit = static_cast<float>(2.01 * frame_resolution); // 1.995, and rounding
    const int lane = lane_of_thread();
    float nearest[rows];
    const auto look = [&](auto&& distance) {
        for (float& least : nearest)
            least = INFINITY;
#pragma unroll 8
        for (int turn = 1; turn < 32; ++turn)
            distance(lane + turn, -1);
        distance(lane, own);
        unsigned found = 0;
        for (int r = 0; r < rows; ++r)
            found |= nearest[r] < limit ? 1u << r : 0u;
        return found;
    };
    const unsigned on_one = look([&](int from, int except) {
        const float given = __shfl_sync(whole_warp, sources.first, from);
        for (int r = 0; r < rows; ++r)
            if (r != except)
                nearest[r] = fminf(nearest[r], fabsf(given - targets.at[r].first));
    });
    if (!__any_sync(whole_warp, on_one != 0))
        return;
    targets.maybe |= look([&](int from, int except) {
        const float first = __shfl_sync(whole_warp, sources.first, from),
                    second = __shfl_sync(whole_warp, sources.second, from);
        for (int r = 0; r < rows; ++r)
            if (r != except)
                nearest[r] = fminf(nearest[r], fmaxf(fabsf(first - targets.at[r].first), fabsf(second - targets.at[r].second)));
    });
}

/// The largest distance along an axis between boxes, one of which may be a place; 0: they meet.
__device__ double gap_between(const geometry::Box& a, const geometry::Box& b) {
    double gap = 0;
    for (int axis = 0; axis < 3; ++axis)
        gap = fmax(gap, fmax(a.lower[axis] - b.upper[axis], b.lower[axis] - a.upper[axis]));
    return gap;
}

__device__ bool is_place(const geometry::Box& box) {
    return box.longest_edge() <= 0;
}

/// body(leaf, whether all its particles stand at one place) for the leaves of a group's list that come closer to a box than
/// `limit`; not for those at its place, where it has but one. All lanes call, and get the same.
template <typename Body>
__device__ __forceinline__ void for_leaves_near(const EvaluationView& v, int64_t g, const geometry::Box& box, double limit,
                                                Body&& body) {
    constexpr int at_once = 4; // lists are long where groups are wide, and one warp goes through them
    const int64_t end = v.lists.leaf_offset[g + 1];
    for (int64_t begin = v.lists.leaf_offset[g]; begin < end; begin += 32 * at_once) {
        int32_t node[at_once];
        bool is_near[at_once], heap[at_once];
#pragma unroll
        for (int q = 0; q < at_once; ++q) {
            const int64_t e = begin + 32 * q + lane_of_thread();
            node[q] = e < end ? v.lists.leaves[e] : -1;
        }
#pragma unroll
        for (int q = 0; q < at_once; ++q) {
            const geometry::Box& leaf = v.sources.boxes[max(node[q], 0)];
            const double gap = gap_between(leaf, box);
            heap[q] = is_place(leaf);
            is_near[q] = node[q] >= 0 && gap < limit && (gap > 0 || !heap[q] || !is_place(box));
        }
#pragma unroll
        for (int q = 0; q < at_once; ++q) {
            const unsigned heaps = __ballot_sync(whole_warp, heap[q]);
            for (unsigned left = __ballot_sync(whole_warp, is_near[q]); left != 0; left &= left - 1) {
                const int from = __ffs(static_cast<int>(left)) - 1;
                body(v.sources.nodes[__shfl_sync(whole_warp, node[q], from)], (heaps >> from & 1) != 0);
            }
        }
    }
}

/// Whether a source of the group's leaves stands closer to target k than `limit`, at another place (a warp).
__device__ bool has_near_source(const EvaluationView& v, int64_t g, int64_t k, double limit) {
    const double at[3] = {v.targets.x[k], v.targets.y[k], v.targets.z[k]};
    bool found = false;
    for_leaves_near(v, g, {{at[0], at[1], at[2]}, {at[0], at[1], at[2]}}, limit, [&](const tree::Node& leaf, bool heap) {
        const int32_t end = leaf.first + (heap ? 1 : leaf.count);
        for (int32_t j = leaf.first + lane_of_thread(); j < end; j += 32) {
            const double distance = fmax(fmax(fabs(v.sources.x[j] - at[0]), fabs(v.sources.y[j] - at[1])),
                                         fabs(v.sources.z[j] - at[2]));
            found |= distance > 0 && distance < limit;
        }
    });
    return __any_sync(whole_warp, found);
}

/// The planes between the cells of which a group is one, or several sisters: beyond them other groups begin.
class CellPlanes {
  public:
    /// Of targets that are the octree's particles. `limit`: how near to a plane counts.
    __device__ CellPlanes(const EvaluationView& v, const GroupFrame& frame, double limit)
        : dimension_(v.sources.dimension) {
        const uint64_t* const keys = v.sources.keys + frame.first;
        const int level = geometry::common_level(keys[0], keys[frame.count - 1], dimension_);
        edge_ = v.sources.counts->root_edge;
        const double spacing = ldexp(edge_, -1 - level);
        known_ = level < geometry::key_levels(dimension_) && spacing > 0;
        inverse_ = 1 / spacing;
        near_ = (limit + ldexp(edge_, -48)) * inverse_; // and the rounding of keys
        for (int a = 0; a < 3; ++a)
            lower_[a] = v.sources.counts->root_lower[a];
    }
    /// Or may be, as in cells that keys do not tell apart, and outside the root cube.
    __device__ bool is_near(const double* at) const {
        bool near = !known_;
        for (int a = 0; a < 3; ++a) {
            const double offset = at[a] - lower_[a], place = offset * inverse_;
            near |= a < dimension_ && (!(fabs(place - rint(place)) > near_) || offset < 0 || offset > edge_);
        }
        return near;
    }

  private:
    int dimension_;
    bool known_;
    double edge_, inverse_, near_, lower_[3];
};

/// Targets near planes that are each asked about all leaves; more of 64 are held against the leaves together.
constexpr int most_asked = 8;

/// Of the targets from `base` on: TargetRows::maybe.
template <bool same_places>
__device__ unsigned maybe_close(const EvaluationView& v, const GroupFrame& frame, int64_t g, int32_t base) {
    const int lane = lane_of_thread();
    const double limit = frame_resolution / frame.scale;
    const auto target = [&](int32_t k) {
        const int64_t i = int64_t{frame.first} + k;
        return k < frame.count ? place_on_lines(frame, v.targets.x[i], v.targets.y[i], v.targets.z[i]) : Lines{};
    };
    TargetRows targets;
    for (int r = 0; r < rows; ++r)
        targets.at[r] = target(base + 32 * r + lane);
    if constexpr (same_places) {
        for (int32_t begin = 0; begin < frame.count; begin += 32)
            hold_against(target(begin + lane), begin < base ? -1 : (begin - base) / 32, targets);
        const CellPlanes planes(v, frame, limit);
        unsigned near = 0;
        int count = 0;
        for (int r = 0; r < rows; ++r) {
            const int32_t k = base + 32 * r + lane;
            const int64_t i = int64_t{frame.first} + k;
            const double at[3] = {k < frame.count ? v.targets.x[i] : 0, k < frame.count ? v.targets.y[i] : 0,
                                  k < frame.count ? v.targets.z[i] : 0};
            const bool is_near = k < frame.count && planes.is_near(at);
            near |= is_near ? 1u << r : 0u;
            count += __popc(__ballot_sync(whole_warp, is_near));
        }
        if (count <= most_asked)
            return targets.maybe | near;
    }
    for_leaves_near(v, g, batch_group(v, g).target.box, limit, [&](const tree::Node& leaf, bool heap) {
        const int32_t end = leaf.first + (heap ? 1 : leaf.count);
        for (int32_t begin = leaf.first; begin < end; begin += 32) {
            const int32_t j = begin + lane;
            const bool other = j < end && !(same_places && j >= frame.first && j < frame.first + frame.count);
            hold_against(other ? place_on_lines(frame, v.sources.x[j], v.sources.y[j], v.sources.z[j]) : Lines{}, -1,
                         targets);
        }
    });
    return targets.maybe;
}

/// A lane's bits: whether target base + 32 r + lane has a source closer than the frame resolves.
template <bool same_places>
__device__ unsigned close_rows(const EvaluationView& v, const GroupFrame& frame, int64_t g, int32_t base) {
    if (is_place(batch_group(v, g).target.box)) // all of them, or none
        return has_near_source(v, g, frame.first, frame_resolution / frame.scale) ? ~0u : 0u;
    const unsigned maybe = maybe_close<same_places>(v, frame, g, base);
    unsigned close = 0;
    for (int r = 0; r < rows; ++r)
        for (unsigned left = __ballot_sync(whole_warp, (maybe >> r & 1) != 0); left != 0; left &= left - 1) {
            const int of = __ffs(static_cast<int>(left)) - 1;
            const int64_t k = int64_t{frame.first} + base + 32 * r + of;
            if (has_near_source(v, g, k, frame_resolution / frame.scale) && lane_of_thread() == of)
                close |= 1u << r;
        }
    return close;
}

/// Whether target k needs double whatever is near it.
__device__ bool loses_own(const EvaluationView& v, const Rule& rule, const GroupFrame& frame, int64_t k) {
    if (!rule.potential || !rule.softened)
        return false;
    Frame place;
    place.scale = frame.scale;
    const auto sources = static_cast<int64_t>(v.charge_scale); // about
    return loses_itself(place, rule.each ? v.targets.softening[k] : v.softening.length, rule.one_plummer,
                        sources);
}

/// GroupFrame's bits of a lane's targets.
template <bool same_places>
__device__ unsigned coarse_bits(const EvaluationView& v, const Rule& rule, const GroupFrame& frame, int64_t g,
                                int32_t count) {
    unsigned bits = 0;
    for (int32_t base = 0; base < count; base += 32 * rows) {
        const unsigned close = frame.all_coarse ? ~0u : close_rows<same_places>(v, frame, g, base);
        for (int r = 0; r < rows; ++r) {
            const int32_t k = base + 32 * r + lane_of_thread();
            if (k < count && ((close >> r & 1) != 0 || loses_own(v, rule, frame, int64_t{frame.first} + k)))
                bits |= 1u << (k >> GroupFrame::coarse_shift(frame.count));
        }
    }
    return bits;
}

/// Whether the centre of a cell that meets the group's targets one by one is closer to their box than `least` along every
/// axis: small cells beside a group that is wide. A lane's share of the cells.
__device__ bool has_near_cell(const EvaluationView& v, int64_t g, double least) {
    const geometry::Box& box = batch_group(v, g).target.box;
    const int32_t* const list = v.lists.nodes + v.lists.node_offset[g];
    const int64_t count = near_cells(v, g);
    bool found = false;
    for (int64_t e = lane_of_thread(); e < count; e += 32) {
        const int32_t node = list[e];
        const geometry::Box centre{{v.expansions.cx[node], v.expansions.cy[node], v.expansions.cz[node]},
                                   {v.expansions.cx[node], v.expansions.cy[node], v.expansions.cz[node]}};
        found |= gap_between(centre, box) < least;
    }
    return found;
}

/// GroupFrame::coarse of the batch's groups, a warp each.
template <bool same_places>
__global__ void __launch_bounds__(32 * warps, 3)
    find_kernel(const EvaluationView v, const Rule rule, GroupFrame* frames) {
    const int64_t g = int64_t{blockIdx.x} * warps + warp_of_thread();
    if ((g >= batch_group_count(v)) | backend::stopped(v.status))
        return;
    const GroupFrame frame = frames[g];
    if (has_near_cell(v, g, frame_resolution / frame.scale))
        backend::stop_with(v.status, needs_double);
    const int32_t count = frame.pairs.total > 0 ? frame.count : 0;
    const unsigned bits = __reduce_or_sync(whole_warp, coarse_bits<same_places>(v, rule, frame, g, count));
    if (bits != 0 && lane_of_thread() == 0)
        frames[g].coarse = bits;
}

/// Sums over some of a group's sources at its targets first + lane of the lanes in `targets`, frame units, to
/// `sum`, a row a lane (a warp).
template <DevicePair kind>
__device__ void sum_part(const EvaluationView& v, bool plummer, const SourceList& list, const Task& part,
                         double scale, int64_t first, unsigned targets, double (&sum)[32][4]) {
    constexpr int lanes = 2, rows = 2; // targets together; of 32 sources
    const int lane = lane_of_thread();
    const auto term = [&](const double* lengths, int64_t k) {
        const double length = (lengths != nullptr ? lengths[k] : v.softening.length) * scale;
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
            x[t] = v.targets.x[k], y[t] = v.targets.y[k], z[t] = v.targets.z[k];
            soft[t] = kind == DevicePair::constant ? common_soft<double>(plummer, v.softening.length, scale)
                                                   : term(v.targets.softening, k);
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
                const int64_t j = heap ? v.sources.nodes[node].first : max(index[r], 0);
                const double charge =
                    heap ? v.expansions.values[node * v.expansions.terms] : v.sources.charge[j];
                const double q = none ? 0 : charge * v.charge_scale;
                const double of_source = kind == DevicePair::constant ? 0 : term(v.sources.softening, j);
#pragma unroll
                for (int t = 0; t < lanes; ++t)
                    add_softened<kind, true>((v.sources.x[j] - x[t]) * scale, (v.sources.y[j] - y[t]) * scale,
                                             (v.sources.z[j] - z[t]) * scale, q, soft[t], of_source, own[t]);
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
__device__ Task part_of_sources(const SourceList& list, const GroupFrame& frame, int64_t g, int part) {
    const int32_t total = frame.pairs.total, share = (total / warps / 64 + 1) * 64;
    const int32_t begin = min(total, part * share);
    return {static_cast<int32_t>(g), begin, min(total, begin + share),
            find_entry(list.entries, list.count, static_cast<uint32_t>(begin)), 0};
}

/// The pairs of a group's targets base + lane that are coarse, to the field (a block).
template <DevicePair kind>
__device__ void sum_targets(const EvaluationView& v, const TaskView& tasks, bool plummer, int64_t g,
                            int32_t base, const FieldPointers& field, Sums& sums) {
    const GroupFrame& frame = tasks.frames[g];
    const int warp = warp_of_thread(), lane = lane_of_thread();
    const unsigned targets =
        __ballot_sync(whole_warp, base + lane < frame.count && frame.is_coarse(base + lane));
    if (targets == 0)
        return;
    Task part{static_cast<int32_t>(g), 0, 0, 0, 0};
    const SourceList list = source_list(v, tasks.entries, part);
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
    sum_kernel(const EvaluationView v, const TaskView tasks, bool plummer, const FieldPointers field) {
    __shared__ Sums sums;
    if (backend::stopped(v.status))
        return;
    const int64_t groups = batch_group_count(v), blocks = gridDim.x;
    for (int64_t begin = blockIdx.x; begin < groups; begin += blocks * 32 * warps) {
        const int64_t own = begin + threadIdx.x * blocks;
        const bool any = own < groups && tasks.frames[own].coarse != 0;
        if (!__syncthreads_or(any))
            continue;
        const unsigned mine = __ballot_sync(whole_warp, any);
        if (lane_of_thread() == 0)
            sums.groups[warp_of_thread()] = mine;
        __syncthreads();
        for (int w = 0; w < warps; ++w)
            for (unsigned left = sums.groups[w]; left != 0; left &= left - 1) {
                const int64_t g = begin + (32 * w + __ffs(static_cast<int>(left)) - 1) * blocks;
                for (int32_t base = 0; base < tasks.frames[g].count; base += 32)
                    sum_targets<kind>(v, tasks, plummer, g, base, field, sums);
            }
    }
}

} // namespace

void find_coarse(backend::Queue& queue, const EvaluationView& view, const PairVariant& variant,
                 int64_t group_capacity, GroupFrame* frames) {
    const Rule rule{variant.softening != Softening::none, variant.per_particle,
                    pair_kind(variant) == DevicePair::constant, variant.potential};
    const auto kernel = view.targets.same_places && view.sources.keys != nullptr ? find_kernel<true> : find_kernel<false>;
    kernel<<<backend::blocks_for(group_capacity, warps), 32 * warps, 0, queue.stream()>>>(view, rule, frames);
    GRAFT_CUDA_LAUNCHED("find_coarse");
    ++queue.launches;
}

void sum_coarse(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks,
                const DeviceEvaluation& how, const int32_t* origin, DeviceField& field) {
    const auto kernel = [kind = pair_kind(how.pairs)] {
        return kind == DevicePair::constant  ? sum_kernel<DevicePair::constant>
               : kind == DevicePair::plummer ? sum_kernel<DevicePair::plummer>
                                             : sum_kernel<DevicePair::spline>;
    }();
    kernel<<<2u * queue.multiprocessors(), 32 * warps, 0, queue.stream()>>>(
        view, tasks, how.pairs.softening != Softening::none, FieldPointers(field, view, how, origin));
    GRAFT_CUDA_LAUNCHED("sum_coarse");
    ++queue.launches;
}

} // namespace graft::forces
