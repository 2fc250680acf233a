// Targets of a tree's groups that the frame of their group is too coarse for (frame_resolution.hpp): their
// pairs are summed in double, as the CPU sums those of all targets of such a group.
//
// Looked for beside the sums of units, which know nothing of them: what these give such a target is left out
// where slots are gathered. Ordinary groups have none. Their warps compare one number a target, its place
// along a slanted line, with those of its neighbours in target order; only targets whose numbers are close
// look at places themselves. Sums: a block shares the sources of its groups' lists, two targets of a warp at
// a time, parts added in order. Cells stay in single precision.
// Cost: a read of the targets' places, 24 B each; 32 pairs of a coarse target in 33 cycles of the FP64 pipe.
#include "kernels/device_field.cuh"
#include "kernels/device_pair_exact.cuh"
#include "kernels/device_source_tiles.cuh"
#include "kernels/frame_resolution.hpp"

namespace graft::kernels {

namespace {

constexpr int warps = 8;

/// How pairs are softened.
struct Rule {
    bool softened, each; // at all; a length of each particle
    bool potential;
};

__device__ int lane_of_thread() {
    return static_cast<int>(threadIdx.x % 32);
}
__device__ int warp_of_thread() {
    return static_cast<int>(threadIdx.x / 32);
}

/// Place of target k along (1, 0.618, 0.377), frame units; infinity: there is no such target.
__device__ float place_on_line(const EvaluationView& v, const GroupFrame& frame, int64_t k) {
    if (k < 0 || k >= v.target_count)
        return INFINITY;
    const auto along = [&](const double* at, int axis) {
        return static_cast<float>(fma(at[k], frame.scale, -frame.centre[axis]));
    };
    return fmaf(along(v.target_z, 2), 0.377f, fmaf(along(v.target_y, 1), 0.618f, along(v.target_x, 0)));
}

/// Whether targets beside first + lane, in order, may be closer than the frame resolves: rarely, if not. All
/// lanes call.
__device__ bool has_close(const EvaluationView& v, const GroupFrame& frame, int64_t first) {
    static_assert(frame_neighbours <= 16);
    constexpr auto limit = static_cast<float>(2.01 * frame_resolution); // 1.995, and rounding
    const int lane = lane_of_thread();
    const float own = place_on_line(v, frame, first + lane);
    const int64_t other = lane < frame_neighbours         ? first + lane + 32
                          : lane >= 32 - frame_neighbours ? first + lane - 32
                                                          : -1;
    const float beside = place_on_line(v, frame, other); // of the warp's targets
    float nearest = INFINITY;
#pragma unroll
    for (int d = 1; d <= frame_neighbours; ++d) {
        const float after = __shfl_sync(whole_warp, lane < d ? beside : own, lane + d),
                    before = __shfl_sync(whole_warp, lane >= 32 - d ? beside : own, lane - d);
        nearest = fminf(nearest, fminf(fabsf(after - own), fabsf(before - own)));
    }
    return nearest < limit;
}

/// The targets first ... first + 31, a bit each, that the frame is too coarse for; `count` of them are the
/// group's. All lanes call and get the same.
template <DevicePair kind>
__device__ unsigned find_coarse(const EvaluationView& v, const Rule& rule, const GroupFrame& frame,
                                int64_t first, int32_t count) {
    const int64_t k = first + lane_of_thread();
    const bool in_group = lane_of_thread() < count, close = has_close(v, frame, first);
    bool coarse = in_group && frame.all_coarse;
    if (in_group && (close || (rule.potential && rule.softened))) {
        Frame place;
        place.scale = frame.scale;
        const double length = !rule.softened ? 0.0 : rule.each ? v.target_softening[k] : v.length;
        const bool one_plummer = kind == DevicePair::constant;
        const auto sources = static_cast<int64_t>(v.charge_scale); // about
        coarse |= rule.potential && loses_itself(place, length, one_plummer, sources);
        coarse = coarse ||
                 (close &&
                  too_coarse(place, neighbour_gap({v.target_x, v.target_y, v.target_z, v.target_count}, k),
                             length));
    }
    return __ballot_sync(whole_warp, coarse);
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
        DevicePairSum<double> own[lanes] = {};
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

/// The targets that a warp has found.
struct Found {
    int64_t group;
    int32_t base;
    unsigned targets; // base + lane of the group
};

/// What the block's warps share to sum them.
struct Sums {
    Found found[warps];
    double part[warps][32][4]; // of a warp's share of the sources
};

/// Part number `part` of the group's sources, of as many as there are warps.
__device__ Unit part_of_sources(const SourceList& list, const GroupFrame& frame, int64_t g, int part) {
    const int32_t total = frame.pairs.total, share = (total / warps / 64 + 1) * 64;
    const int32_t begin = min(total, part * share);
    return {static_cast<int32_t>(g), begin, min(total, begin + share),
            find_entry(list.entries, list.count, static_cast<uint32_t>(begin)), 0};
}

/// The field of what a warp has found (a block).
template <DevicePair kind>
__device__ void sum_found(const EvaluationView& v, const UnitView& units, bool plummer, const Found& found,
                          const FieldPointers& field, Sums& sums) {
    const GroupFrame& frame = units.frames[found.group];
    const int warp = warp_of_thread(), lane = lane_of_thread();
    Unit part{static_cast<int32_t>(found.group), 0, 0, 0, 0};
    const SourceList list = source_list(v, units.entries, part);
    part = part_of_sources(list, frame, found.group, warp);
    const int64_t first = int64_t{frame.first} + found.base;
    sum_part<kind>(v, plummer, list, part, frame.scale, first, found.targets, sums.part[warp]);
    __syncthreads();
    if (warp == 0 && (found.targets >> lane & 1) != 0) {
        double sum[4] = {0, 0, 0, 0};
        for (int w = 0; w < warps; ++w)
            for (int c = 0; c < 4; ++c)
                sum[c] += sums.part[w][lane][c];
        const Unscale unscale(field, frame);
        field.put(first + lane, sum, unscale.square, unscale.inverse, field.add);
    }
    __syncthreads();
}

/// All targets whose bits of GroupFrame::coarse the targets have, if a bit is for 2^shift of them.
__device__ unsigned with_their_bits(unsigned targets, int shift, int32_t count) {
    unsigned all = targets;
    for (int s = 0; s < shift; ++s) { // either half
        const unsigned low = s == 0   ? 0x55555555u
                             : s == 1 ? 0x33333333u
                             : s == 2 ? 0x0f0f0f0fu
                             : s == 3 ? 0x00ff00ffu
                                      : 0x0000ffffu;
        all |= (all & low) << (1 << s) | (all >> (1 << s) & low);
    }
    return count < 32 ? all & ((1u << count) - 1) : all;
}

/// The bits of targets base + lane in GroupFrame::coarse.
__device__ unsigned bits_of(unsigned targets, int32_t base, int shift) {
    unsigned bits = 0;
    for (int k = 0; k < 32; k += 1 << shift)
        bits |= (targets >> k & 1) << ((base + k) >> shift);
    return bits;
}

/// 2^log_chunks warps a group, 32 targets each and again. A group of more than 1,024 is left as it is.
template <DevicePair kind>
__global__ void __launch_bounds__(32 * warps, 3)
    coarse_kernel(const EvaluationView v, const UnitView units, const Rule rule, int log_chunks,
                  const FieldPointers field, GroupFrame* frames) {
    __shared__ Sums sums;
    if (backend::stopped(v.status))
        return;
    const int64_t number = int64_t{blockIdx.x} * warps + warp_of_thread(), g = number >> log_chunks;
    const int chunks = 1 << log_chunks;
    GroupFrame frame{};
    if (g < batch_group_count(v))
        frame = units.frames[g];
    const int shift = GroupFrame::coarse_shift(frame.count);
    int32_t base = (static_cast<int>(number) & (chunks - 1)) * 32;
    const auto within = [&] { return base < frame.count && frame.pairs.total > 0 && shift <= 5; };
    for (; __syncthreads_or(within()); base += chunks * 32) {
        unsigned targets = 0;
        if (within())
            targets = find_coarse<kind>(v, rule, frame, int64_t{frame.first} + base, frame.count - base);
        if (!__syncthreads_or(targets != 0))
            continue;
        targets = with_their_bits(targets, shift, frame.count - base);
        if (lane_of_thread() == 0) {
            sums.found[warp_of_thread()] = {g, base, targets};
            if (targets != 0)
                atomicOr(&frames[g].coarse, bits_of(targets, base, shift));
        }
        __syncthreads();
        for (const Found& found : sums.found)
            if (found.targets != 0)
                sum_found<kind>(v, units, rule.softened, found, field, sums);
    }
}

} // namespace

void sum_coarse(backend::Queue& queue, const EvaluationView& view, const UnitView& units,
                const PairVariant& variant, int64_t group_capacity, bool add, GroupFrame* frames,
                DeviceField& field) {
    const int log_chunks = log_gather_chunks(view);
    const unsigned blocks = backend::blocks_for(group_capacity << log_chunks, warps);
    const Rule rule{variant.softening != Softening::none, variant.per_particle, variant.potential};
    const auto kernel = [kind = pair_kind(variant)] {
        return kind == DevicePair::constant  ? coarse_kernel<DevicePair::constant>
               : kind == DevicePair::plummer ? coarse_kernel<DevicePair::plummer>
                                             : coarse_kernel<DevicePair::spline>;
    }();
    kernel<<<blocks, 32 * warps, 0, queue.stream()>>>(view, units, rule, log_chunks,
                                                      FieldPointers(field, view, add), frames);
    GRAFT_CUDA_LAUNCHED("coarse targets");
    ++queue.launches;
}

} // namespace graft::kernels
