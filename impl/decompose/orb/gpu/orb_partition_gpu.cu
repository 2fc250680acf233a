// SPDX-License-Identifier: BSD-3-Clause
// The end of a round: every point moves once, to its place among its cell's
// points, in the order they had.
//
// The tiles' histograms of the last pass lack the listed points; these are
// added from the lists, now that the cuts are known. One sum over
// [root][bin][tile] turns the histogram into places. Floor of moving: read and
// write of 4-byte index, coordinates and weight. A tile is sorted by bin in
// shared memory, all columns at once, so that writes are runs of 128 points on
// average.
#include "backend/primitives_gpu.cuh"
#include "decompose/orb/gpu/descend_gpu.cuh"

namespace graft::decompose {

namespace {

constexpr int threads = 256;
constexpr int move_threads = 256, move_items = tile_points / move_threads, move_warps = move_threads / 32;

/// Listed points of the last level of the round, counted in their tiles.
/// `share` blocks a cell.
template <typename T>
__global__ void count_listed(OrbView<T> view, int32_t first, int step, unsigned share) {
    const int32_t k = first + static_cast<int32_t>(blockIdx.x / share);
    const OrbNode& node = view.node[k];
    if (backend::stopped(view.status))
        return;
    const OrbTiles& tiles = view.tiles;
    const int32_t r = (k >> step) - tiles.first_cell;
    const int64_t begin = view.node[k >> step].begin, stride = tiles.first[r + 1] - tiles.first[r];
    const int64_t bin = 2 * (k & ((1 << step) - 1));
    uint32_t* histogram =
        tiles.histogram + (static_cast<int64_t>(tiles.first[r]) << tiles.levels) + bin * stride;
    const T split = static_cast<T>(node.split);
    const int64_t listed = static_cast<int64_t>(node.listed);
    for (int64_t i = int64_t{blockIdx.x % share} * threads + threadIdx.x; i < listed;
         i += int64_t{share} * threads) {
        const T v = view.list_value[node.begin + i];
        const int64_t place = view.list_place[node.begin + i];
        const bool right = v > split || (v == split && view.from.id_of(place) >= node.cell.tie);
        atomicAdd(&histogram[(right ? stride : 0) + (place - begin) / tile_points], 1u);
    }
}

template <typename T>
struct MoveShared {
    OrbCuts<T, 1 << most_levels> cuts;
    uint32_t counter[move_warps][most_bins]; // points of a warp in a bin, then
                                             // where its first one goes
    uint32_t destination[most_bins];         // of the bin's first point, less its place
                                             // in the tile
};

/// Is item i of this thread one of the tile's `count` points? A warp's items
/// are one run of points.
template <bool whole>
__device__ __forceinline__ bool has_point(int i, int first, int count) {
    return whole || first + i * 32 + static_cast<int>(threadIdx.x % 32) < count;
}

/// A column into shared memory, sorted: stage[p] = value.
template <bool whole, typename V>
__device__ __forceinline__ void put(V* stage, const V (&value)[move_items], const uint16_t (&p)[move_items],
                                    int first, int count) {
#pragma unroll
    for (int i = 0; i < move_items; ++i)
        if (has_point<whole>(i, first, count))
            stage[p[i]] = value[i];
}
/// And out to where it belongs.
template <bool whole, typename V>
__device__ __forceinline__ void out(const V* stage, V* to, const uint32_t (&destination)[move_items],
                                    int count) {
#pragma unroll
    for (int i = 0; i < move_items; ++i) {
        const int at = i * move_threads + static_cast<int>(threadIdx.x);
        if (whole || at < count)
            __stcs(to + destination[i], stage[at]);
    }
}

/// Bins of this thread's points, four bits each.
template <bool whole, typename T, int levels>
__device__ __forceinline__ uint32_t bins_of(MoveShared<T>& shared, const OrbColumns<T>& from,
                                            const OrbTile& here, const T (&x)[3][move_items], int first) {
    constexpr uint32_t first_local = 0x11111111u << levels; // of all points together, modulo 2^32
    uint32_t bins = 0;
    bool tied = false;
#pragma unroll
    for (int i = 0; i < move_items; ++i) {
        const T point[3] = {x[0][i], x[1][i], x[2][i]};
        bins += static_cast<uint32_t>(descend_untied<levels>(shared.cuts, point, tied)) << (4 * i);
    }
    if (tied) {
        bins = 0;
#pragma unroll
        for (int i = 0; i < move_items; ++i)
            bins +=
                static_cast<uint32_t>(
                    has_point<whole>(i, first, here.count)
                        ? descend_exactly(&shared.cuts, &from, levels, x[0][i], x[1][i], x[2][i],
                                          here.begin + first + i * 32 + static_cast<int>(threadIdx.x % 32))
                        : 1 << levels)
                << (4 * i);
    }
    return bins - first_local;
}

/// Counts of warps and bins to places: one warp, four counters a lane, bin by
/// bin and in each by warps.
template <typename T, int levels>
__device__ __forceinline__ void scan_counters(MoveShared<T>& shared) {
    constexpr int bins = 1 << levels;
    static_assert(move_warps == 8);
    const int lane = threadIdx.x, bin = lane / 2, warp = lane % 2 * 4;
    const bool is_bin = bin < bins;
    uint32_t count[4] = {}, sum = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k)
        sum += count[k] = is_bin ? shared.counter[warp + k][bin] : 0;
    uint32_t at = sum;
#pragma unroll
    for (int offset = 1; offset < 2 * bins; offset *= 2) {
        const uint32_t other = __shfl_up_sync(~0u, at, offset);
        at += lane >= offset ? other : 0;
    }
    at -= sum;
    if (is_bin && warp == 0)
        shared.destination[bin] -= at;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        if (is_bin)
            shared.counter[warp + k][bin] = at;
        at += count[k];
    }
}

/// Place of each of this thread's points among the tile's, sorted by bin,
/// stably.
template <bool whole, typename T, int levels>
__device__ __forceinline__ void rank(MoveShared<T>& shared, const OrbTile& here, uint32_t bins_of_items,
                                     int first, uint16_t (&p)[move_items], uint32_t* where) {
    constexpr int bins = 1 << levels;
    const int lane = threadIdx.x % 32;
    uint32_t* counter = shared.counter[threadIdx.x / 32];
    if (lane < bins)
        counter[lane] = 0;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < move_items; ++i) {
        const bool is_here = has_point<whole>(i, first, here.count);
        const uint32_t b = (bins_of_items >> (4 * i)) & (most_bins - 1);
        uint32_t peers = whole ? ~0u : __ballot_sync(~0u, is_here);
#pragma unroll
        for (int bit = 0; bit < levels; ++bit) {
            const bool mine = ((b >> bit) & 1) != 0;
            const uint32_t same = __ballot_sync(~0u, mine);
            peers &= mine ? same : ~same;
        }
        const uint32_t before = counter[b], ahead = __popc(peers & ((1u << lane) - 1));
        __syncwarp();
        if (is_here && ahead == 0)
            counter[b] = before + __popc(peers);
        __syncwarp();
        p[i] = static_cast<uint16_t>(before + ahead);
    }
    __syncthreads();
    if (threadIdx.x < 32)
        scan_counters<T, levels>(shared);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < move_items; ++i) {
        const uint32_t b = (bins_of_items >> (4 * i)) & (most_bins - 1);
        p[i] = static_cast<uint16_t>(p[i] + counter[b]);
        if (has_point<whole>(i, first, here.count))
            where[p[i]] = shared.destination[b] + p[i];
    }
}

/// Bytes of shared memory for a tile's columns, widest first.
template <typename T>
constexpr int stage_bytes(bool weighted) {
    return tile_points * static_cast<int>(3 * sizeof(T) + 8 + (weighted ? 8 : 0));
}

template <bool whole, typename T, int levels, bool weighted>
__device__ __forceinline__ void move_tile(const OrbView<T>& view, const OrbArrays<T>& to, const OrbTile& here,
                                          MoveShared<T>& shared, uint64_t* stages) {
    constexpr int bins = 1 << levels;
    uint64_t* weight_stage = stages;
    T* stage = reinterpret_cast<T*>(weight_stage + (weighted ? tile_points : 0));
    uint32_t* index_stage = reinterpret_cast<uint32_t*>(stage + 3 * tile_points);
    uint32_t* where = index_stage + tile_points;
    const int thread = threadIdx.x, first = thread / 32 * 32 * move_items;
    const int64_t place = here.begin + first + thread % 32; // of item 0
    T x[3][move_items];
    uint32_t index[move_items];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
#pragma unroll
        for (int i = 0; i < move_items; ++i)
            x[axis][i] = axis < view.dimension && has_point<whole>(i, first, here.count)
                             ? __ldcs(view.from.c[axis] + place + i * 32)
                             : T(0);
#pragma unroll
    for (int i = 0; i < move_items; ++i)
        index[i] = view.from.index == nullptr               ? static_cast<uint32_t>(place + i * 32)
                   : has_point<whole>(i, first, here.count) ? __ldcs(view.from.index + place + i * 32)
                                                            : 0;
    if (thread >= 1 && thread < bins)
        shared.cuts.load(view.node, view.parts, here.root, thread);
    if (thread < bins)
        shared.destination[thread] = view.tiles.histogram[here.histogram + thread * here.stride];
    __syncthreads();
    uint16_t p[move_items];
    const uint32_t bins_of_items = bins_of<whole, T, levels>(shared, view.from, here, x, first);
    rank<whole, T, levels>(shared, here, bins_of_items, first, p, where);
    put<whole>(index_stage, index, p, first, here.count);
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
        if (axis < view.dimension)
            put<whole>(stage + axis * tile_points, x[axis], p, first, here.count);
    if constexpr (weighted) {
        uint64_t weight[move_items];
#pragma unroll
        for (int i = 0; i < move_items; ++i)
            weight[i] =
                has_point<whole>(i, first, here.count) ? __ldcs(view.from.weight + place + i * 32) : 0;
        put<whole>(weight_stage, weight, p, first, here.count);
    }
    __syncthreads();
    uint32_t destination[move_items];
#pragma unroll
    for (int i = 0; i < move_items; ++i)
        destination[i] =
            whole || i * move_threads + thread < here.count ? where[i * move_threads + thread] : 0;
    out<whole>(index_stage, to.index, destination, here.count);
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
        if (axis < view.dimension)
            out<whole>(stage + axis * tile_points, to.c[axis], destination, here.count);
    if constexpr (weighted)
        out<whole>(weight_stage, to.weight, destination, here.count);
}

template <typename T, int levels, bool weighted>
__global__ void __launch_bounds__(move_threads, sizeof(T) == 4 ? 4 : 3)
    move_points(const __grid_constant__ OrbView<T> view, const __grid_constant__ OrbArrays<T> to) {
    extern __shared__ uint64_t stages[];
    __shared__ MoveShared<T> shared;
    if (int64_t{blockIdx.x} >= view.tiles.first[view.tiles.roots] || backend::stopped(view.status))
        return;
    const OrbTile here = OrbTile::of(view, blockIdx.x);
    if (here.count == tile_points)
        move_tile<true, T, levels, weighted>(view, to, here, shared, stages);
    else
        move_tile<false, T, levels, weighted>(view, to, here, shared, stages);
}

template <typename T, int levels, bool weighted>
void launch_move(backend::Queue& queue, const OrbView<T>& view, const OrbArrays<T>& to) {
    constexpr int bytes = stage_bytes<T>(weighted);
    GRAFT_CUDA(cudaFuncSetAttribute(move_points<T, levels, weighted>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    move_points<T, levels, weighted>
        <<<static_cast<unsigned>(view.tiles.most), move_threads, bytes, queue.stream()>>>(view, to);
    GRAFT_CUDA_LAUNCHED("move_points");
    ++queue.launches;
}

template <typename T, int levels>
void launch_levels(backend::Queue& queue, const OrbView<T>& view, const OrbArrays<T>& to) {
    view.from.weight != nullptr ? launch_move<T, levels, true>(queue, view, to)
                                : launch_move<T, levels, false>(queue, view, to);
}

} // namespace

template <typename T>
void orb_place_listed(backend::Queue& queue, const OrbView<T>& view, int level, int step) {
    const int32_t first = int32_t{1} << level, end = end_of_level(level, view.parts);
    const auto cells = static_cast<unsigned>(end - first);
    const unsigned share = std::max(1u, 16u * static_cast<unsigned>(queue.multiprocessors()) / cells);
    count_listed<T><<<share * cells, threads, 0, queue.stream()>>>(view, first, step, share);
    GRAFT_CUDA_LAUNCHED("count_listed");
    ++queue.launches;
    auto* histogram = reinterpret_cast<int32_t*>(view.tiles.histogram);
    backend::exclusive_sum(queue, histogram, histogram, view.tiles.most << view.tiles.levels);
}

template <typename T>
void orb_move(backend::Queue& queue, const OrbView<T>& view, const OrbArrays<T>& to) {
    switch (view.tiles.levels) {
    case 1:
        return launch_levels<T, 1>(queue, view, to);
    case 2:
        return launch_levels<T, 2>(queue, view, to);
    case 3:
        return launch_levels<T, 3>(queue, view, to);
    default:
        return launch_levels<T, 4>(queue, view, to);
    }
}

template void orb_place_listed<float>(backend::Queue&, const OrbView<float>&, int, int);
template void orb_place_listed<double>(backend::Queue&, const OrbView<double>&, int, int);
template void orb_move<float>(backend::Queue&, const OrbView<float>&, const OrbArrays<float>&);
template void orb_move<double>(backend::Queue&, const OrbView<double>&, const OrbArrays<double>&);

} // namespace graft::decompose
