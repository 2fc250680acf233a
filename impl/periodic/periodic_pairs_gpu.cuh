// SPDX-License-Identifier: BSD-3-Clause
// Pairs of a periodic box: a block of four warps has 64 targets and a part of the sources.
//
// Sources stand in chunks of 32, near each other in space. A warp looks at the boxes of 32 chunks at a time,
// and takes those that may reach its targets' box, a lane a source: in units of the edges, the images that
// can reach the targets' box lie in a range that begins where the source says and is as long for all, so that
// the lanes stay together; those within the cut-off of the box are kept in shared memory. When these are many, each
// part of 16 targets takes those within the cut-off of its own, smaller box, and a lane sums every second group of
// four of them for one target (in T, then in double). So at any density the lanes are full, and of the pairs
// computed a share of (4 pi / 3 r^3) / (volume within r of a part's box) is inside the cut-off r. Slots of the
// search: about 60 per 32 chunks, 60 per chunk and image (without double in float where it is the only one), 30 a part and
// 32 images kept, beside 16 pairs for each of them that a part takes.
// Coordinates in float are relative to the centre of the targets' box, in units of a power of two near the cut-off;
// pairs nearer than a sixteenth of the frame take what rounding took off their coordinates from beside them, or the
// nearest pair of all would have most of the error; pairs so near that this is not enough are told of. In double
// coordinates are not moved, so that close pairs lose nothing.
#pragma once

#include "periodic/periodic_pairs_block_gpu.cuh"

namespace graft::periodic::periodic_pairs {

template <typename T, forces::DevicePair kind, bool potential, bool virial, int terms>
struct Block {
    static constexpr int components = potential ? 4 : 3;
    static constexpr bool in_float = sizeof(T) == 4, soft_ones = kind != forces::DevicePair::constant;
    static constexpr int room = Images<T, kind>::room;
    const PeriodicPairs<T>& in;
    Images<T, kind>& images;
    Targets<T, kind>& targets;
    double (&sums)[components][block]; // of the warp
    int64_t first, end;
    int lane, kept = 0;
    T near_square, close_square, reach_square, offset; // of r^2: below near_square the rests count; of the screen's v
    double moments[virial ? 6 : 1] = {};

    __device__ __forceinline__ T soften(const double* lengths, int64_t k) const {
        const double length = (lengths != nullptr ? lengths[k] : in.length) * in.scale;
        return static_cast<T>(kind == forces::DevicePair::plummer ? 0.5 * length * length : length);
    }
    /// The kernels beside this one go on: combine() stops.
    __device__ __forceinline__ void tell_close() const { *in.found_close = 1; }
    /// `value` is relative to the frame's centre in float.
    __device__ __forceinline__ T coordinate(double value, float& rest) const {
        if constexpr (in_float)
            return split_float(value * in.scale, rest);
        else
            return value * in.scale;
    }

    __device__ __forceinline__ void set_frame(const BlockRegion& place) {
        const double frame = fmax(place.half[0], fmax(place.half[1], place.half[2])) + in.cutoff;
        near_square = static_cast<T>(frame * frame * in.scale * in.scale * (1.0 / 256));
        close_square = static_cast<T>(3 * in.close * in.close * in.scale * in.scale);
        double largest = frame; // coordinate
        for (int a = 0; !in_float && a < 3; ++a)
            largest += fabs(place.centre[a]);
        const double reach = in.scale * (in.cutoff + (in_float ? 1e-6 : 1e-15) * largest);
        reach_square = static_cast<T>(reach * reach * (1 + 1e-6));
        offset = in.screen.offset;
        if constexpr (kind == forces::DevicePair::plummer)
            offset = static_cast<T>(2 * in.facts->softening_square / (in.cutoff * in.cutoff) - 1);
    }

    /// Warp by warp, half of the block's targets each.
    __device__ __forceinline__ void load_targets(const BlockRegion& place, int warp) {
        const int t = 32 * warp + lane;
        const int64_t k = min(first + t, end - 1);
        const double off = in_float ? 1 : 0;
        float rest[3];
        T at[3];
        at[0] = coordinate(in.targets.x[k] - off * place.centre[0], rest[0]);
        at[1] = coordinate(in.targets.y[k] - off * place.centre[1], rest[1]);
        at[2] = coordinate(in.targets.z[k] - off * place.centre[2], rest[2]);
        targets.x[t] = at[0], targets.y[t] = at[1], targets.z[t] = at[2];
        for (int a = 0; in_float && a < 3; ++a)
            targets.rest[t][a] = rest[a];
        if constexpr (in_float)
            targets.print[t] = fingerprint(in.targets.x[k], in.targets.y[k], in.targets.z[k]);
        if constexpr (soft_ones)
            targets.soft[t] = soften(in.targets.softening, k);
        if (potential && in_float && in.keeps_itself) {
            forces::Frame frame;
            frame.scale = in.scale;
            const double length = in.targets.softening != nullptr ? in.targets.softening[k] : in.length;
            if (forces::loses_itself(frame, length, !soft_ones, in.charges))
                tell_close();
        }
        for (int a = 0; a < 3; ++a) {
            T lower = at[a], upper = at[a];
            for (int step = part_targets / 2; step > 0; step /= 2) {
                lower = fmin(lower, __shfl_xor_sync(~0u, lower, step));
                upper = fmax(upper, __shfl_xor_sync(~0u, upper, step));
            }
            if (lane % part_targets == 0) {
                targets.centre[t / part_targets][a] = T(0.5) * lower + T(0.5) * upper;
                targets.half[t / part_targets][a] = T(0.5) * (upper - lower);
            }
            if (t == 0) {
                targets.centre[parts][a] = static_cast<T>(in_float ? 0 : place.centre[a] * in.scale);
                targets.half[parts][a] = static_cast<T>(place.half[a] * in.scale);
            }
        }
    }

    /// A part's targets with the first `count` of those near it, whole groups: lanes that share a target take turns.
    __device__ __forceinline__ void sum_near(int part, int count) {
        constexpr int pairs = lane_images;
        const int own = part_targets * part + lane % part_targets, turn = lane / part_targets;
        const T x = targets.x[own], y = targets.y[own], z = targets.z[own];
        const T own_soft = soft_ones ? targets.soft[soft_ones ? own : 0] : T(0);
        forces::ScreenedSum<T> sum{};
        forces::ScreenedSum<T>* const to[pairs] = {&sum, &sum, &sum, &sum};
        for (int j = pairs * turn; j < count; j += at_once) {
            T dx[pairs], dy[pairs], dz[pairs], r2[pairs], q[pairs], added[pairs], h[pairs];
#pragma unroll
            for (int p = 0; p < pairs; ++p) {
                const Source<T> source = images.near[j + p];
                const T of_source = soft_ones ? images.near_soft[soft_ones ? j + p : 0] : T(0);
                dx[p] = source.x - x, dy[p] = source.y - y, dz[p] = source.z - z;
                r2[p] = forces::fused(dx[p], dx[p], forces::fused(dy[p], dy[p], dz[p] * dz[p]));
                q[p] = source.q;
                added[p] = kind == forces::DevicePair::plummer  ? fmax(own_soft + of_source, forces::pair_tiny<T>())
                           : kind == forces::DevicePair::spline ? forces::pair_tiny<T>()
                                                                : in.added;
                h[p] = kind == forces::DevicePair::spline ? (own_soft > of_source ? own_soft : of_source) : T(0);
            }
            if constexpr (in_float) {
                T nearest = r2[0];
#pragma unroll
                for (int p = 1; p < pairs; ++p)
                    nearest = fmin(nearest, r2[p]);
                if (nearest < near_square)
                    sharpen(own, j, dx, dy, dz, r2, q);
            }
            forces::add_screened<kind, potential, virial, terms>(in.screen, offset, dx, dy, dz, r2, q, added, h, to);
        }
#pragma unroll
        for (int c = 0; c < (virial ? 10 : components); ++c)
#pragma unroll
            for (int step = part_targets; step < 32; step *= 2)
                sum.value[c] += __shfl_xor_sync(~0u, sum.value[c], step);
        if (turn != 0)
            return;
#pragma unroll
        for (int c = 0; c < components; ++c)
            sums[c][own] += static_cast<double>(sum.value[c]);
        if constexpr (virial) {
            const double charge = first + own < end ? in.targets.charge[first + own] : 0;
#pragma unroll
            for (int c = 0; c < 6; ++c)
                moments[c] += charge * static_cast<double>(sum.value[4 + c]);
        }
    }

    /// Puts back what rounding took off the coordinates of the pairs of a target and images j, j + 1 ...
    template <int pairs>
    __device__ __forceinline__ void sharpen(int own, int j, T (&dx)[pairs], T (&dy)[pairs], T (&dz)[pairs], T (&r2)[pairs],
                                            const T (&q)[pairs]) {
#pragma unroll
        for (int p = 0; p < pairs; ++p) {
            const float* const of_source = images.rest[images.from[j + p]];
            dx[p] += of_source[0] - targets.rest[own][0];
            dy[p] += of_source[1] - targets.rest[own][1];
            dz[p] += of_source[2] - targets.rest[own][2];
            r2[p] = forces::fused(dx[p], dx[p], forces::fused(dy[p], dy[p], dz[p] * dz[p]));
            if (r2[p] < close_square) {
                if (targets.print[own] == images.print[images.from[j + p]])
                    dx[p] = dy[p] = dz[p] = r2[p] = 0;
                else if (q[p] != 0)
                    tell_close();
            }
        }
    }

    /// Whether a source is within the cut-off of a box.
    __device__ __forceinline__ bool reaches(const Source<T>& source, const T (&centre)[3], const T (&half)[3]) const {
        const T gx = fmax(fabs(source.x - centre[0]) - half[0], T(0)), gy = fmax(fabs(source.y - centre[1]) - half[1], T(0)),
                gz = fmax(fabs(source.z - centre[2]) - half[2], T(0));
        return forces::fused(gx, gx, forces::fused(gy, gy, gz * gz)) <= reach_square;
    }

    /// Sums what was kept (all lanes come here).
    __device__ __forceinline__ void sum_kept() {
        if (kept == 0)
            return;
        __syncwarp();
#pragma unroll 1
        for (int part = 0; part < parts; ++part) {
            int count = 0;
            for (int base = 0; base < kept; base += 32) {
                const int k = base + lane;
                const Source<T> source = images.source[k < kept ? k : 0];
                const bool near = k < kept && reaches(source, targets.centre[part], targets.half[part]);
                const unsigned all = __ballot_sync(~0u, near);
                if (near)
                    put_near(count + __popc(all & ((1u << lane) - 1)), source, k);
                count += __popc(all);
            }
            const int whole = (count + at_once - 1) / at_once * at_once;
            if (count + lane < whole)
                put_near(count + lane, {0, 0, 0, 0}, 0);
            __syncwarp();
            sum_near(part, whole);
            __syncwarp();
        }
        kept = 0;
    }
    __device__ __forceinline__ void put_near(int to, const Source<T>& source, int k) {
        images.near[to] = source;
        if constexpr (in_float)
            images.from[to] = static_cast<uint8_t>(k);
        if constexpr (soft_ones)
            images.near_soft[to] = images.soft[k];
    }

    /// Lanes with `hit` have theirs kept (all lanes come here).
    __device__ __forceinline__ void keep(bool hit, const Source<T>& source, const float (&source_rest)[3], T source_soft,
                                         uint32_t print) {
        const unsigned hits = __ballot_sync(~0u, hit);
        if (hit) {
            const int to = kept + __popc(hits & ((1u << lane) - 1));
            images.source[to] = source;
            for (int a = 0; in_float && a < 3; ++a)
                images.rest[to][a] = source_rest[a];
            if constexpr (in_float)
                images.print[to] = print;
            if constexpr (soft_ones)
                images.soft[to] = source_soft;
        }
        kept += __popc(hits);
        if (kept > room - 32)
            sum_kept();
    }

    /// Whether an image of the box of a chunk may reach the targets' box; `image`: where there is only one.
    __device__ __forceinline__ bool may_reach(const BlockRegion& place, const SourceChunk& chunk, OneImage<T>& image) const {
        double d[3], f[3];
#pragma unroll
        for (int a = 0; a < 3; ++a)
            d[a] = chunk.centre[a] - place.centre[a];
        to_fractions(d[0], d[1], d[2], f);
        bool near = true, single = true;
        double m[3];
#pragma unroll
        for (int a = 0; a < 3; ++a) {
            const double reach = place.reach[a] + chunk.extent[a];
            const double from = ceil(-reach - f[a]), to = floor(reach - f[a]);
            near = near && from <= to;
            single = single && from == to;
            m[a] = from;
        }
        image.single = single;
        if (!near || !single)
            return near;
        const geometry::Vec3 s = in.box.shift(m[0], m[1], m[2]);
        const double shift[3] = {s.x, s.y, s.z};
        double gap_square = 0;
#pragma unroll
        for (int a = 0; a < 3; ++a) {
            const double way = d[a] + shift[a], gap = fmax(fabs(way) - place.half[a] - chunk.half[a], 0.0);
            gap_square += gap * gap;
            if constexpr (in_float)
                image.way[a] = split_float(way * in.scale, image.rest[a]);
            else
                image.way[a] = shift[a];
        }
        return gap_square <= in.reach_square;
    }
    __device__ __forceinline__ void to_fractions(double x, double y, double z, double (&f)[3]) const {
        f[2] = z * in.inverse[2];
        f[1] = (y - f[2] * in.box.yz) * in.inverse[1];
        f[0] = (x - f[1] * in.box.xy - f[2] * in.box.xz) * in.inverse[0];
    }

    /// Chunks [first, end), those of super chunks that may reach the targets. All warps of the block come here.
    __device__ __forceinline__ void search(const BlockRegion& place, int64_t first, int64_t end, unsigned* near_supers) {
        const int warp = threadIdx.x / 32;
        const int64_t last = (end - 1) / 32;
        for (int64_t at = first / 32; at <= last; at += 32 * warps) {
            const int64_t own = at + threadIdx.x;
            OneImage<T> any;
            const unsigned mask = __ballot_sync(~0u, own <= last && may_reach(place, in.chunks.supers[min(own, last)], any));
            __syncthreads();
            if (lane == 0)
                near_supers[warp] = mask;
            __syncthreads();
            for (int w = 0; w < warps; ++w)
                for (unsigned rest = near_supers[w]; rest != 0;) { // four super chunks: eight chunks of each are this warp's
                    unsigned mine = rest;
                    for (int k = 0; k < lane / 8; ++k)
                        mine &= mine - 1;
                    const int64_t chunk = (at + 32 * w + __ffs(mine) - 1) * 32 + lane % 8 * warps + warp;
                    const bool there = mine != 0 && chunk >= first && chunk < end;
                    OneImage<T> image;
                    meet_near(place, chunk, there && may_reach(place, in.chunks.boxes[there ? chunk : first], image), image);
                    for (int k = 0; k < 4; ++k)
                        rest &= rest - 1;
                }
        }
    }

    /// The chunks of lanes with `near`.
    __device__ __forceinline__ void meet_near(const BlockRegion& place, int64_t chunk, bool near, const OneImage<T>& image) {
        for (unsigned left = __ballot_sync(~0u, near); left != 0; left &= left - 1) {
            const int of = __ffs(left) - 1;
            OneImage<T> its;
            its.single = __shfl_sync(~0u, image.single, of);
            for (int a = 0; a < 3; ++a) {
                its.way[a] = __shfl_sync(~0u, image.way[a], of);
                if constexpr (in_float)
                    its.rest[a] = __shfl_sync(~0u, image.rest[a], of);
            }
            const int64_t begin = __shfl_sync(~0u, chunk, of) * chunk_sources;
            if constexpr (in_float)
                if (its.single) {
                    meet_near_centre(begin, its);
                    continue;
                }
            meet(place, begin, its);
        }
    }

    /// In float: the one image of a chunk, from its centre.
    __device__ __forceinline__ void meet_near_centre(int64_t begin, const OneImage<T>& image) {
        const int64_t j = min(begin + lane, in.sources.n - 1);
        const ChunkSource source = in.chunks.near_centre[j];
        const float from_centre[3] = {source.x, source.y, source.z};
        float place[3], lost[3];
#pragma unroll
        for (int a = 0; a < 3; ++a) {
            const float sum = exact_sum(image.way[a], from_centre[a], lost[a]);
            lost[a] += image.rest[a] + source.rest[a];
            place[a] = sum + lost[a]; // the float next to the place: both summands may be far longer
            lost[a] -= place[a] - sum;
        }
        const Source<T> at{place[0], place[1], place[2], source.q};
        T of_source = 0;
        if constexpr (soft_ones)
            of_source = soften(in.sources.softening, j);
        keep(begin + lane < in.sources.n && reaches(at, targets.centre[parts], targets.half[parts]), at, lost, of_source,
             source.print);
    }

    /// Images of the sources of a chunk, a lane each; in float where there may be several.
    __device__ __forceinline__ void meet(const BlockRegion& place, int64_t begin, const OneImage<T>& image) {
        const int64_t j = min(begin + lane, in.sources.n - 1);
        const bool there = begin + lane < in.sources.n;
        const double sx = in.sources.x[j], sy = in.sources.y[j], sz = in.sources.z[j];
        const double dx = sx - place.centre[0], dy = sy - place.centre[1], dz = sz - place.centre[2];
        T q, of_source = 0;
        uint32_t print = 0;
        if constexpr (in_float)
            q = in.chunks.near_centre[j].q, print = in.chunks.near_centre[j].print;
        else
            q = in.sources.charge[j] * in.charge_scale;
        if constexpr (soft_ones)
            of_source = soften(in.sources.softening, j);
        double from[3] = {0, 0, 0};
        if (!image.single) {
            to_fractions(dx, dy, dz, from);
            for (int a = 0; a < 3; ++a)
                from[a] = ceil(-place.reach[a] - from[a]);
        }
        int count[3];
        for (int a = 0; a < 3; ++a)
            count[a] = image.single ? 1 : place.count[a];
#pragma unroll 1
        for (int c = 0; c < count[2]; ++c)
#pragma unroll 1
            for (int b = 0; b < count[1]; ++b)
#pragma unroll 1
                for (int a = 0; a < count[0]; ++a) {
                    geometry::Vec3 s{image.way[0], image.way[1], image.way[2]};
                    if (!image.single)
                        s = in.box.shift(from[0] + a, from[1] + b, from[2] + c);
                    Source<T> at; // in double as it is, in float from the centre
                    float lost[3] = {};
                    at.x = coordinate(in_float ? dx + s.x : sx + s.x, lost[0]);
                    at.y = coordinate(in_float ? dy + s.y : sy + s.y, lost[1]);
                    at.z = coordinate(in_float ? dz + s.z : sz + s.z, lost[2]);
                    at.q = q;
                    keep(there && reaches(at, targets.centre[parts], targets.half[parts]), at, lost, of_source, print);
                }
    }
};

template <typename T, forces::DevicePair kind, bool potential, bool virial, int terms>
__global__ __launch_bounds__(32 * warps,
                             resident_pair_blocks<T>(kind, virial)) void kernel(const __grid_constant__ PeriodicPairs<T> in) {
    using Body = Block<T, kind, potential, virial, terms>;
    __shared__ Images<T, kind> images[warps];
    __shared__ Targets<T, kind> targets;
    __shared__ BlockRegion place;
    __shared__ double sums[warps][Body::components][block];
    __shared__ double moments[warps][6];
    __shared__ unsigned near[warps];
    if (backend::stopped(in.status))
        return;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t first = blockIdx.x * int64_t{block}, end = min(first + block, in.targets.n);
    const int64_t chunk_end = min((blockIdx.y + int64_t{1}) * in.part, in.chunks.count);
    if (warp == 0) {
        const BlockRegion found = find_place(in, first, end, lane);
        if (lane == 0)
            place = found;
    }
    __syncthreads();
    Body body{in, images[warp], targets, sums[warp], first, end, lane};
    body.set_frame(place);
    if (warp < block / 32)
        body.load_targets(place, warp);
    for (int c = 0; c < Body::components; ++c)
        for (int t = lane; t < block; t += 32)
            sums[warp][c][t] = 0;
    __syncthreads();
    body.search(place, blockIdx.y * in.part, chunk_end, near);
    body.sum_kept();
    if constexpr (virial)
        for (int c = 0; c < 6; ++c) {
            double sum = body.moments[c];
            for (int step = 16; step > 0; step /= 2)
                sum += __shfl_xor_sync(~0u, sum, step);
            if (lane == 0)
                moments[warp][c] = sum;
        }
    __syncthreads();
    for (int k = threadIdx.x; k < Body::components * block; k += 32 * warps) {
        const int c = k / block, t = k % block;
        double sum = 0;
        for (int w = 0; w < warps; ++w)
            sum += sums[w][c][t];
        if (first + t < end)
            in.partial[(blockIdx.y * int64_t{Body::components} + c) * in.targets.n + first + t] = sum;
    }
    if (virial && threadIdx.x < 6) {
        double sum = 0;
        for (int w = 0; w < warps; ++w)
            sum += moments[w][threadIdx.x];
        in.virial[6 * (blockIdx.y * int64_t{gridDim.x} + blockIdx.x) + threadIdx.x] = sum;
    }
}

template <typename T, forces::DevicePair kind, int terms>
void launch(backend::Queue& queue, const PeriodicPairs<T>& in, bool potential, bool virial) {
    const dim3 grid(static_cast<unsigned>(in.blocks), static_cast<unsigned>(in.parts));
    const auto body = virial      ? kernel<T, kind, true, true, terms>
                      : potential ? kernel<T, kind, true, false, terms>
                                  : kernel<T, kind, false, false, terms>;
    body<<<grid, 32 * warps, 0, queue.stream()>>>(in);
    GRAFT_CUDA_LAUNCHED("pairs of a periodic box");
    ++queue.launches;
}

} // namespace graft::periodic::periodic_pairs
