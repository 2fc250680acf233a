// The end of a round: every point moves once, to its place among its cell's points, in the order they had.
//
// The tiles' histograms of the last pass lack the listed points; these are added from the lists, now that the
// cuts are known. One sum over [root][bin][tile] turns the histogram into places. Floor of moving: read and
// write of 4-byte index, coordinates and weight. A tile is sorted by bin in shared memory, all columns at
// once, so that writes are runs of 128 points on average.
#include "backend/device_primitives.cuh"
#include "decompose/device_orb_descend.cuh"

namespace graft::decompose {

namespace {

constexpr int threads = 256;
constexpr int move_threads = 256, move_items = tile_points / move_threads, move_warps = move_threads / 32;

/// Listed points of the last level of the round, counted in their tiles. `share` blocks a cell.
template <typename T>
__global__ void count_listed(OrbGround<T> ground, int32_t first, int step, unsigned share) {
    const int32_t k = first + static_cast<int32_t>(blockIdx.x / share);
    const OrbNode& node = ground.node[k];
    if (backend::stopped(ground.status))
        return;
    const OrbTiles& tiles = ground.tiles;
    const int32_t r = (k >> step) - tiles.first_cell;
    const int64_t begin = ground.node[k >> step].begin, stride = tiles.first[r + 1] - tiles.first[r];
    const int64_t bin = 2 * (k & ((1 << step) - 1));
    uint32_t* histogram =
        tiles.histogram + (static_cast<int64_t>(tiles.first[r]) << tiles.levels) + bin * stride;
    const T split = static_cast<T>(node.split);
    const int64_t listed = static_cast<int64_t>(node.listed);
    for (int64_t i = int64_t{blockIdx.x % share} * threads + threadIdx.x; i < listed;
         i += int64_t{share} * threads) {
        const T v = ground.list_value[node.begin + i];
        const int64_t place = ground.list_place[node.begin + i];
        const bool right = v > split || (v == split && ground.from.id_of(place) >= node.cell.tie);
        atomicAdd(&histogram[(right ? stride : 0) + (place - begin) / tile_points], 1u);
    }
}

template <typename T>
struct MoveShared {
    OrbCuts<T, 1 << most_levels> cuts;
    uint32_t counter[move_warps][most_bins];
    uint32_t bin_start[most_bins], destination[most_bins], axes;
};

/// A column into shared memory, sorted: stage[p] = value.
template <typename V>
__device__ __forceinline__ void put(V* stage, const V (&value)[move_items], const uint16_t (&p)[move_items],
                                    int first, int count) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < move_items; ++i)
        if (first + i * 32 + lane < count)
            stage[p[i]] = value[i];
}
/// And out to where it belongs.
template <typename V>
__device__ __forceinline__ void out(const V* stage, V* to, const uint32_t (&destination)[move_items],
                                    int count) {
#pragma unroll
    for (int i = 0; i < move_items; ++i) {
        const int at = i * move_threads + static_cast<int>(threadIdx.x);
        if (at < count)
            __stcs(to + destination[i], stage[at]);
    }
}

/// Bin of each of this thread's points and its place among the tile's, sorted by bin, stably.
template <typename T, int levels>
__device__ __forceinline__ void rank(MoveShared<T>& shared, const OrbColumns<T>& from, const OrbTile& here,
                                     const T (&x)[3][move_items], int first, uint16_t (&p)[move_items],
                                     uint32_t* where) {
    constexpr int bins = 1 << levels;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t* counter = shared.counter[warp];
    if (lane < bins)
        counter[lane] = 0;
    __syncwarp();
    uint8_t bin[move_items];
#pragma unroll
    for (int i = 0; i < move_items; ++i) {
        const int local = first + i * 32 + lane;
        const bool is_here = local < here.count;
        const T point[3] = {x[0][i], x[1][i], x[2][i]};
        const int b = is_here ? descend<levels>(shared.cuts, from, point, here.begin + local) : 0;
        uint32_t peers = __ballot_sync(~0u, is_here);
#pragma unroll
        for (int bit = 0; bit < levels; ++bit) {
            const bool mine = ((b >> bit) & 1) != 0;
            const uint32_t same = __ballot_sync(~0u, mine);
            peers &= mine ? same : ~same;
        }
        const uint32_t before = counter[b];
        __syncwarp();
        const uint32_t rank = __popc(peers & ((1u << lane) - 1));
        if (is_here && rank == 0)
            counter[b] = before + __popc(peers);
        __syncwarp();
        bin[i] = static_cast<uint8_t>(b);
        p[i] = static_cast<uint16_t>(before + rank);
    }
    __syncthreads();
    if (threadIdx.x < bins) { // over the warps, then over the bins
        uint32_t sum = 0;
        for (int w = 0; w < move_warps; ++w) {
            const uint32_t count = shared.counter[w][threadIdx.x];
            shared.counter[w][threadIdx.x] = sum;
            sum += count;
        }
        uint32_t inclusive = sum;
        const uint32_t all = static_cast<uint32_t>((uint64_t{1} << bins) - 1);
#pragma unroll
        for (int offset = 1; offset < bins; offset *= 2) {
            const uint32_t other = __shfl_up_sync(all, inclusive, offset);
            inclusive += static_cast<int>(threadIdx.x) >= offset ? other : 0;
        }
        shared.bin_start[threadIdx.x] = inclusive - sum;
        shared.destination[threadIdx.x] -= inclusive - sum;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < move_items; ++i) {
        p[i] = static_cast<uint16_t>(p[i] + shared.bin_start[bin[i]] + counter[bin[i]]);
        if (first + i * 32 + lane < here.count)
            where[p[i]] = shared.destination[bin[i]] + p[i];
    }
}

/// Bytes of shared memory for a tile's columns, widest first.
template <typename T>
constexpr int stage_bytes(bool weighted) {
    return tile_points * static_cast<int>(3 * sizeof(T) + 8 + (weighted ? 8 : 0));
}

template <typename T, int levels, bool weighted>
__global__ void __launch_bounds__(move_threads, sizeof(T) == 4 ? 4 : 3)
    move_points(const __grid_constant__ OrbGround<T> ground, const __grid_constant__ OrbShelf<T> to) {
    extern __shared__ uint64_t stages[];
    __shared__ MoveShared<T> shared;
    constexpr int bins = 1 << levels;
    uint64_t* weight_stage = stages;
    T* stage = reinterpret_cast<T*>(weight_stage + (weighted ? tile_points : 0));
    uint32_t* index_stage = reinterpret_cast<uint32_t*>(stage + 3 * tile_points);
    uint32_t* where = index_stage + tile_points;
    if (int64_t{blockIdx.x} >= ground.tiles.first[ground.tiles.roots] || backend::stopped(ground.status))
        return;
    const OrbTile here = OrbTile::of(ground, blockIdx.x);
    const int thread = threadIdx.x, lane = thread % 32, first = thread / 32 * 32 * move_items;
    T x[3][move_items];
    uint32_t index[move_items];
#pragma unroll
    for (int i = 0; i < move_items; ++i) {
        const int local = first + i * 32 + lane;
        const bool is_here = local < here.count;
#pragma unroll
        for (int axis = 0; axis < 3; ++axis)
            x[axis][i] =
                is_here && axis < ground.dimension ? __ldcs(ground.from.c[axis] + here.begin + local) : T(0);
        index[i] = is_here ? ground.from.index_of(here.begin + local) : 0;
    }
    if (thread >= 1 && thread < bins)
        shared.cuts.load(ground.node, ground.parts, here.root, thread);
    if (thread < bins)
        shared.destination[thread] = ground.tiles.histogram[here.histogram + thread * here.stride];
    __syncthreads();
    uint16_t p[move_items];
    rank<T, levels>(shared, ground.from, here, x, first, p, where);
    put(index_stage, index, p, first, here.count);
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
        if (axis < ground.dimension)
            put(stage + axis * tile_points, x[axis], p, first, here.count);
    if constexpr (weighted) {
        uint64_t weight[move_items];
#pragma unroll
        for (int i = 0; i < move_items; ++i) {
            const int local = first + i * 32 + lane;
            weight[i] = local < here.count ? __ldcs(ground.from.weight + here.begin + local) : 0;
        }
        put(weight_stage, weight, p, first, here.count);
    }
    __syncthreads();
    uint32_t destination[move_items];
#pragma unroll
    for (int i = 0; i < move_items; ++i)
        destination[i] = i * move_threads + thread < here.count ? where[i * move_threads + thread] : 0;
    out(index_stage, to.index, destination, here.count);
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
        if (axis < ground.dimension)
            out(stage + axis * tile_points, to.c[axis], destination, here.count);
    if constexpr (weighted)
        out(weight_stage, to.weight, destination, here.count);
}

template <typename T, int levels, bool weighted>
void launch_move(backend::Queue& queue, const OrbGround<T>& ground, const OrbShelf<T>& to) {
    constexpr int bytes = stage_bytes<T>(weighted);
    GRAFT_CUDA(cudaFuncSetAttribute(move_points<T, levels, weighted>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    move_points<T, levels, weighted>
        <<<static_cast<unsigned>(ground.tiles.most), move_threads, bytes, queue.stream()>>>(ground, to);
    GRAFT_CUDA_LAUNCHED("move_points");
    ++queue.launches;
}

template <typename T, int levels>
void launch_levels(backend::Queue& queue, const OrbGround<T>& ground, const OrbShelf<T>& to) {
    ground.from.weight != nullptr ? launch_move<T, levels, true>(queue, ground, to)
                                  : launch_move<T, levels, false>(queue, ground, to);
}

} // namespace

template <typename T>
void orb_place_listed(backend::Queue& queue, const OrbGround<T>& ground, int level, int step) {
    const int32_t first = int32_t{1} << level, end = end_of_level(level, ground.parts);
    const auto cells = static_cast<unsigned>(end - first);
    const unsigned share = std::max(1u, 16u * static_cast<unsigned>(queue.multiprocessors()) / cells);
    count_listed<T><<<share * cells, threads, 0, queue.stream()>>>(ground, first, step, share);
    GRAFT_CUDA_LAUNCHED("count_listed");
    ++queue.launches;
    auto* histogram = reinterpret_cast<int32_t*>(ground.tiles.histogram);
    backend::exclusive_sum(queue, histogram, histogram, ground.tiles.most << ground.tiles.levels);
}

template <typename T>
void orb_move(backend::Queue& queue, const OrbGround<T>& ground, const OrbShelf<T>& to) {
    switch (ground.tiles.levels) {
    case 1:
        return launch_levels<T, 1>(queue, ground, to);
    case 2:
        return launch_levels<T, 2>(queue, ground, to);
    case 3:
        return launch_levels<T, 3>(queue, ground, to);
    default:
        return launch_levels<T, 4>(queue, ground, to);
    }
}

template void orb_place_listed<float>(backend::Queue&, const OrbGround<float>&, int, int);
template void orb_place_listed<double>(backend::Queue&, const OrbGround<double>&, int, int);
template void orb_move<float>(backend::Queue&, const OrbGround<float>&, const OrbShelf<float>&);
template void orb_move<double>(backend::Queue&, const OrbGround<double>&, const OrbShelf<double>&);

} // namespace graft::decompose
