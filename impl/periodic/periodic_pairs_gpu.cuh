// SPDX-License-Identifier: BSD-3-Clause
// Pairs of a periodic box: a block of four warps has 64 targets and a part of the sources; two targets a
// lane.
//
// Sources stand in chunks of 32, near each other in space. A warp looks at the boxes of 32 chunks at a time,
// and takes those that may reach its targets' box, a lane a source: in units of the edges, the images that
// can reach the targets' box lie in a range that begins where the source says and is as long for all, so that
// the lanes stay together; those within the cut-off of the box queue up in shared memory, and 32 in the queue
// are summed (in T, then in double). So at any density the lanes are full, and a pair is computed only where
// its source image reaches the block. Slots of the search: about 60 per 32 chunks and 60 per chunk and image,
// beside 32 * 2 * 32 for a full queue; of the pairs computed, a share of (4 pi / 3 r^3) / (volume within r
// of the block's box) is inside the cut-off r. Coordinates in float are relative to the centre of the
// targets' box, in units of a power of two near the cut-off; pairs nearer than a sixteenth of the frame,
// some in a hundred steps of a warp, take what rounding took off their coordinates from beside them, or the
// nearest pair of all would have most of the error. In double coordinates are not moved, so that close
// pairs lose nothing.
#pragma once

#include "periodic/periodic_kernels_gpu.cuh"

namespace graft::periodic::periodic_pairs {

inline constexpr int warps = 4, lanes_targets = 2, queue_room = 64;

template <typename T>
struct alignas(16) Source {
    T x, y, z, q;
};

template <typename T, forces::DevicePair kind>
struct Queue {
    Source<T> source[queue_room];
    float rest[sizeof(T) == 4 ? queue_room : 1][3]; // what rounding took off the places
    T soft[kind == forces::DevicePair::constant ? 1 : queue_room];
};

/// Where the targets of a block are, and the images that may reach them.
struct BlockRegion {
    double centre[3], half[3], reach[3];
    int count[3]; // of images to look at along each axis
};

__device__ __forceinline__ double warp_least(double value) {
    for (int step = 16; step > 0; step /= 2)
        value = fmin(value, __shfl_xor_sync(~0u, value, step));
    return value;
}

template <typename T>
__device__ __forceinline__ BlockRegion find_place(const PeriodicPairs<T>& in, int64_t first, int64_t end,
                                                  int lane) {
    const double* const at[3] = {in.targets.x, in.targets.y, in.targets.z};
    const int64_t one = min(first + lane, end - 1), two = min(first + 32 + lane, end - 1);
    BlockRegion place;
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        const double lower = warp_least(fmin(at[a][one], at[a][two]));
        const double upper = -warp_least(fmin(-at[a][one], -at[a][two]));
        place.centre[a] = 0.5 * lower + 0.5 * upper;
        place.half[a] = 0.5 * (upper - lower);
    }
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        const geometry::Vec3 g = in.box.reciprocal(a == 0, a == 1, a == 2);
        const double extent = in.cutoff * sqrt(g.x * g.x + g.y * g.y + g.z * g.z) +
                              fabs(g.x) * place.half[0] + fabs(g.y) * place.half[1] +
                              fabs(g.z) * place.half[2];
        place.reach[a] = extent * (1 + 1e-9) + 1e-9; // rounding only ever adds an image
        place.count[a] = static_cast<int>(floor(2 * place.reach[a])) + 1;
    }
    return place;
}

template <typename T, forces::DevicePair kind, bool potential, bool virial, int terms>
struct Block {
    static constexpr int components = potential ? 4 : 3;
    static constexpr bool in_float = sizeof(T) == 4;
    const PeriodicPairs<T>& in;
    Queue<T, kind>& queue;
    int lane, waiting = 0;
    T near_square, offset; // of r^2: below it the rests count; of the screen's v
    T x[lanes_targets], y[lanes_targets], z[lanes_targets], soft[lanes_targets];
    float rest[lanes_targets][3];
    double total[lanes_targets][virial ? 10 : 4] = {};

    __device__ __forceinline__ T soften(const double* lengths, int64_t k) const {
        const double length = (lengths != nullptr ? lengths[k] : in.length) * in.scale;
        return static_cast<T>(kind == forces::DevicePair::plummer ? 0.5 * length * length : length);
    }
    /// `value` is relative to the frame's centre in float.
    __device__ __forceinline__ T coordinate(double value, float& rest) const {
        const double scaled = value * in.scale;
        const T rounded = static_cast<T>(scaled);
        if constexpr (in_float)
            rest = static_cast<float>(scaled - static_cast<double>(rounded));
        return rounded;
    }

    __device__ __forceinline__ void load_targets(const BlockRegion& place, int64_t first, int64_t end) {
#pragma unroll
        for (int t = 0; t < lanes_targets; ++t) {
            const int64_t k = min(first + 32 * t + lane, end - 1);
            const double off = in_float ? 1 : 0;
            x[t] = coordinate(in.targets.x[k] - off * place.centre[0], rest[t][0]);
            y[t] = coordinate(in.targets.y[k] - off * place.centre[1], rest[t][1]);
            z[t] = coordinate(in.targets.z[k] - off * place.centre[2], rest[t][2]);
            if constexpr (kind != forces::DevicePair::constant)
                soft[t] = soften(in.targets.softening, k);
        }
        const double frame = fmax(place.half[0], fmax(place.half[1], place.half[2])) + in.cutoff;
        near_square = static_cast<T>(frame * frame * in.scale * in.scale * (1.0 / 256));
        offset = in.screen.offset;
        if constexpr (kind == forces::DevicePair::plummer)
            offset = static_cast<T>(2 * in.facts->softening_square / (in.cutoff * in.cutoff) - 1);
    }

    /// The first `count` of the queue, an even number of them.
    __device__ __forceinline__ void sum_queue(int count) {
        constexpr int pairs = 2 * lanes_targets;
        forces::ScreenedSum<T> sum[lanes_targets] = {};
        for (int j = 0; j < count; j += 2) {
            T dx[pairs], dy[pairs], dz[pairs], r2[pairs], q[pairs], added[pairs], h[pairs];
            forces::ScreenedSum<T>* to[pairs];
#pragma unroll
            for (int s = 0; s < 2; ++s) {
                const Source<T> source = queue.source[j + s];
                const T of_source = kind == forces::DevicePair::constant ? T(0) : queue.soft[j + s];
#pragma unroll
                for (int t = 0; t < lanes_targets; ++t) {
                    const int p = s * lanes_targets + t;
                    dx[p] = source.x - x[t], dy[p] = source.y - y[t], dz[p] = source.z - z[t];
                    r2[p] = forces::fused(dx[p], dx[p], forces::fused(dy[p], dy[p], dz[p] * dz[p]));
                    q[p] = source.q;
                    added[p] = kind == forces::DevicePair::plummer  ? fmax(soft[t] + of_source, forces::pair_tiny<T>())
                               : kind == forces::DevicePair::spline ? forces::pair_tiny<T>()
                                                            : in.added;
                    h[p] = kind == forces::DevicePair::spline ? (soft[t] > of_source ? soft[t] : of_source) : T(0);
                    to[p] = &sum[t];
                }
            }
            if constexpr (in_float) {
                T nearest = r2[0];
#pragma unroll
                for (int p = 1; p < pairs; ++p)
                    nearest = fmin(nearest, r2[p]);
                if (nearest < near_square)
                    sharpen(j, dx, dy, dz, r2);
            }
            forces::add_screened<kind, potential, virial, terms>(in.screen, offset, dx, dy, dz, r2, q, added, h, to);
        }
#pragma unroll
        for (int t = 0; t < lanes_targets; ++t)
#pragma unroll
            for (int c = 0; c < (virial ? 10 : components); ++c)
                total[t][c] += static_cast<double>(sum[t].value[c]);
    }

    /// Puts back what rounding took off the coordinates of sources j and j + 1 and the targets.
    template <int pairs>
    __device__ __forceinline__ void sharpen(int j, T (&dx)[pairs], T (&dy)[pairs], T (&dz)[pairs],
                                            T (&r2)[pairs]) {
#pragma unroll
        for (int p = 0; p < pairs; ++p) {
            const float* const of_source = queue.rest[j + p / lanes_targets];
            const int t = p % lanes_targets;
            dx[p] += of_source[0] - rest[t][0];
            dy[p] += of_source[1] - rest[t][1];
            dz[p] += of_source[2] - rest[t][2];
            r2[p] = forces::fused(dx[p], dx[p], forces::fused(dy[p], dy[p], dz[p] * dz[p]));
        }
    }

    /// Lanes with `hit` queue up (all lanes come here).
    __device__ __forceinline__ void enqueue(bool hit, const Source<T>& source, const float (&source_rest)[3],
                                            T source_soft) {
        const unsigned hits = __ballot_sync(~0u, hit);
        if (hits == 0)
            return;
        if (hit) {
            const int to = waiting + __popc(hits & ((1u << lane) - 1));
            queue.source[to] = source;
            for (int a = 0; in_float && a < 3; ++a)
                queue.rest[to][a] = source_rest[a];
            if constexpr (kind != forces::DevicePair::constant)
                queue.soft[to] = source_soft;
        }
        waiting += __popc(hits);
        __syncwarp();
        if (waiting < 32)
            return;
        sum_queue(32);
        __syncwarp();
        waiting -= 32;
        if (lane < waiting) { // no lane reads what another one writes
            queue.source[lane] = queue.source[32 + lane];
            for (int a = 0; in_float && a < 3; ++a)
                queue.rest[lane][a] = queue.rest[32 + lane][a];
            if constexpr (kind != forces::DevicePair::constant)
                queue.soft[lane] = queue.soft[32 + lane];
        }
        __syncwarp();
    }

    /// Whether an image of the box of a chunk may reach the targets' box.
    __device__ __forceinline__ bool may_reach(const BlockRegion& place, const SourceChunk& chunk) const {
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
        if (!near || !single)
            return near;
        const geometry::Vec3 s = in.box.shift(m[0], m[1], m[2]);
        const double gx = fmax(fabs(d[0] + s.x) - place.half[0] - chunk.half[0], 0.0),
                     gy = fmax(fabs(d[1] + s.y) - place.half[1] - chunk.half[1], 0.0),
                     gz = fmax(fabs(d[2] + s.z) - place.half[2] - chunk.half[2], 0.0);
        return gx * gx + gy * gy + gz * gz <= in.reach_square;
    }
    __device__ __forceinline__ void to_fractions(double x, double y, double z, double (&f)[3]) const {
        f[2] = z * in.inverse[2];
        f[1] = (y - f[2] * in.box.yz) * in.inverse[1];
        f[0] = (x - f[1] * in.box.xy - f[2] * in.box.xz) * in.inverse[0];
    }

    /// Chunks [first, end), every `warps`-th of them from first on: 32 are looked at at a time.
    __device__ __forceinline__ void search(const BlockRegion& place, int64_t first, int64_t end) {
        for (int64_t at = first; at < end; at += 32 * warps) {
            const int64_t own = at + int64_t{lane} * warps;
            unsigned near = __ballot_sync(~0u, own < end && may_reach(place, in.chunks[min(own, end - 1)]));
            for (; near != 0; near &= near - 1)
                meet(place, (at + int64_t{__ffs(near) - 1} * warps) * chunk_sources);
        }
    }
    /// The same chunks in the same order, but those of super chunks that are too far away. All warps of the block come here.
    __device__ __forceinline__ void search_supers(const BlockRegion& place, int64_t first, int64_t end, unsigned* near_supers) {
        const int warp = threadIdx.x / 32;
        const int64_t last = (end - 1) / 32;
        for (int64_t at = first / 32; at <= last; at += 32 * warps) {
            const int64_t own = at + threadIdx.x;
            const unsigned mask = __ballot_sync(~0u, own <= last && may_reach(place, in.supers[min(own, last)]));
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
                    unsigned near = __ballot_sync(~0u, there && may_reach(place, in.chunks[there ? chunk : first]));
                    for (; near != 0; near &= near - 1)
                        meet(place, __shfl_sync(~0u, chunk, __ffs(near) - 1) * chunk_sources);
                    for (int k = 0; k < 4; ++k)
                        rest &= rest - 1;
                }
        }
    }

    /// Images of the sources of a chunk, a lane each.
    __device__ __forceinline__ void meet(const BlockRegion& place, int64_t begin) {
        const int64_t j = min(begin + lane, in.sources.n - 1);
        const bool there = begin + lane < in.sources.n;
        const double sx = in.sources.x[j], sy = in.sources.y[j], sz = in.sources.z[j];
        const double dx = sx - place.centre[0], dy = sy - place.centre[1], dz = sz - place.centre[2];
        const T q = static_cast<T>(in.sources.charge[j] * in.charge_scale);
        T of_source = 0;
        if constexpr (kind != forces::DevicePair::constant)
            of_source = soften(in.sources.softening, j);
        double f[3];
        to_fractions(dx, dy, dz, f);
        const double from0 = ceil(-place.reach[0] - f[0]), from1 = ceil(-place.reach[1] - f[1]),
                     from2 = ceil(-place.reach[2] - f[2]);
        for (int c = 0; c < place.count[2]; ++c)
            for (int b = 0; b < place.count[1]; ++b)
                for (int a = 0; a < place.count[0]; ++a) {
                    const geometry::Vec3 s = in.box.shift(from0 + a, from1 + b, from2 + c);
                    const double px = dx + s.x, py = dy + s.y, pz = dz + s.z;
                    const double gx = fmax(fabs(px) - place.half[0], 0.0),
                                 gy = fmax(fabs(py) - place.half[1], 0.0),
                                 gz = fmax(fabs(pz) - place.half[2], 0.0);
                    const bool hit = there && gx * gx + gy * gy + gz * gz <= in.reach_square;
                    Source<T> image;
                    float lost[3] = {};
                    image.x = coordinate(in_float ? px : sx + s.x, lost[0]);
                    image.y = coordinate(in_float ? py : sy + s.y, lost[1]);
                    image.z = coordinate(in_float ? pz : sz + s.z, lost[2]);
                    image.q = q;
                    enqueue(hit, image, lost, of_source);
                }
    }

    __device__ __forceinline__ void finish() {
        if (waiting == 0)
            return;
        if (lane == 0) { // to an even number
            queue.source[waiting] = {0, 0, 0, 0};
            for (int a = 0; in_float && a < 3; ++a)
                queue.rest[waiting][a] = 0;
            if constexpr (kind != forces::DevicePair::constant)
                queue.soft[waiting] = 0;
        }
        __syncwarp();
        sum_queue((waiting + 1) / 2 * 2);
    }
};

/// supers: a kernel of its own, as both ways in one would take registers from each other.
template <typename T, forces::DevicePair kind, bool potential, bool virial, int terms, bool supers>
__global__ __launch_bounds__(32 * warps) void kernel(const __grid_constant__ PeriodicPairs<T> in) {
    using Body = Block<T, kind, potential, virial, terms>;
    constexpr int targets = 32 * lanes_targets;
    __shared__ Queue<T, kind> queues[warps];
    __shared__ double sums[warps][Body::components][targets];
    __shared__ double moments[warps][6];
    __shared__ unsigned near[supers ? warps : 1];
    if (backend::stopped(in.status))
        return;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t first = blockIdx.x * int64_t{targets}, end = min(first + targets, in.targets.n);
    const int64_t chunk_end = min((blockIdx.y + int64_t{1}) * in.part, in.chunk_count);
    const BlockRegion place = find_place(in, first, end, lane);
    Body body{in, queues[warp], lane};
    body.load_targets(place, first, end);
    if constexpr (supers)
        body.search_supers(place, blockIdx.y * in.part, chunk_end, near);
    else
        body.search(place, blockIdx.y * in.part + warp, chunk_end);
    body.finish();
#pragma unroll
    for (int t = 0; t < lanes_targets; ++t)
#pragma unroll
        for (int c = 0; c < Body::components; ++c)
            sums[warp][c][32 * t + lane] = body.total[t][c];
    if constexpr (virial)
        for (int c = 0; c < 6; ++c) {
            double sum = 0;
#pragma unroll
            for (int t = 0; t < lanes_targets; ++t)
                if (const int64_t k = first + 32 * t + lane; k < end)
                    sum += in.targets.charge[k] * body.total[t][4 + c];
            for (int step = 16; step > 0; step /= 2)
                sum += __shfl_xor_sync(~0u, sum, step);
            if (lane == 0)
                moments[warp][c] = sum;
        }
    __syncthreads();
    for (int k = threadIdx.x; k < Body::components * targets; k += 32 * warps) {
        const int c = k / targets, t = k % targets;
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

template <typename T, forces::DevicePair kind, int terms, bool supers>
auto kernel_of(bool potential, bool virial) {
    return virial      ? kernel<T, kind, true, true, terms, supers>
           : potential ? kernel<T, kind, true, false, terms, supers>
                       : kernel<T, kind, false, false, terms, supers>;
}

template <typename T, forces::DevicePair kind, int terms>
void launch(backend::Queue& queue, const PeriodicPairs<T>& in, bool potential, bool virial) {
    const dim3 grid(static_cast<unsigned>(in.blocks), static_cast<unsigned>(in.parts));
    const auto body = in.supers != nullptr ? kernel_of<T, kind, terms, true>(potential, virial)
                                           : kernel_of<T, kind, terms, false>(potential, virial);
    body<<<grid, 32 * warps, 0, queue.stream()>>>(in);
    GRAFT_CUDA_LAUNCHED("pairs of a periodic box");
    ++queue.launches;
}

} // namespace graft::periodic::periodic_pairs
