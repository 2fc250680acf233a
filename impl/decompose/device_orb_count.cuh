// The pass that reads points: which cell of its root's subtree each is in so far, whether its coordinate is
// below the bracket of that cell's cut, and a list of those within it.
//
// Floor: the columns of the axes cut so far in the root, 4 (8) bytes a point each; about 12 instructions a
// point and level. Counters are packed eight bits a cell in registers, so nothing but lists goes through
// atomics; all sums are integers.
#pragma once

#include "decompose/device_orb_kernels.cuh"

namespace graft::decompose {

constexpr int count_threads = 256, count_items = tile_points / count_threads;

template <typename T>
struct OrbBrackets {
    T low[most_nodes], high[most_nodes];
    int axis[most_nodes];
    int32_t cell[most_nodes]; // 0: nothing to find here

    __device__ void load(const OrbNode* node, int32_t parts, int32_t root, int step, int local) {
        const int32_t k = (root << step) + local;
        const bool open = k < parts && node[k].stage != SearchStage::idle;
        cell[local] = open ? k : 0;
        axis[local] = open ? node[k].axis : 0;
        low[local] = open ? static_cast<T>(node[k].low) : static_cast<T>(INFINITY);
        high[local] = open ? static_cast<T>(node[k].high) : static_cast<T>(INFINITY);
    }
};

/// Where a tile's points are.
struct OrbTile {
    int32_t root; // heap index
    int64_t begin;
    int count;
    int64_t histogram, stride; // of bin 0, and from bin to bin

    template <typename T>
    __device__ static OrbTile of(const OrbGround<T>& ground, int64_t tile) {
        const OrbTiles& tiles = ground.tiles;
        const int32_t r = static_cast<int32_t>(tiles.table[tile]);
        const OrbNode& node = ground.node[tiles.first_cell + r];
        const int64_t local = tile - tiles.first[r];
        OrbTile here;
        here.root = tiles.first_cell + r;
        here.begin = node.begin + local * tile_points;
        here.count = static_cast<int>(min(static_cast<long long>(tile_points),
                                          static_cast<long long>(node.begin + node.count - here.begin)));
        here.stride = tiles.first[r + 1] - tiles.first[r];
        here.histogram = (static_cast<int64_t>(tiles.first[r]) << tiles.levels) + local;
        return here;
    }
};

/// The cell (0 ... 2^step - 1) of a step that a point is in.
template <int step, typename T, typename Cuts>
__device__ __forceinline__ int descend(const Cuts& cuts, const OrbColumns<T>& from, const T (&x)[3],
                                       int64_t place) {
    int local = 1;
#pragma unroll
    for (int level = 0; level < step; ++level) {
        const int axis = cuts.axis[local];
        const T v = axis == 0 ? x[0] : axis == 1 ? x[1] : x[2];
        const T split = cuts.split[local];
        bool right = v > split;
        if (v == split) // rare: here alone the index is read
            right = from.id_of(place) >= cuts.tie[local];
        local = 2 * local + (right ? 1 : 0);
    }
    return local - (1 << step);
}

/// Adds 8-bit fields of a word over the block into shared counters, one for each of `nodes` fields.
template <int nodes>
__device__ __forceinline__ void add_fields(uint64_t packed, uint32_t* counters) {
    const bool leader = (threadIdx.x & 31) == 0;
#pragma unroll
    for (int half = 0; half < (nodes > 4 ? 2 : 1); ++half) {
        const uint32_t word = static_cast<uint32_t>(packed >> (32 * half));
        const uint32_t even = __reduce_add_sync(~0u, word & 0x00ff00ffu);
        const uint32_t odd = nodes > 1 ? __reduce_add_sync(~0u, (word >> 8) & 0x00ff00ffu) : 0;
        if (leader) {
            atomicAdd(&counters[4 * half], even & 0xffffu);
            if (nodes > 1)
                atomicAdd(&counters[4 * half + 1], odd & 0xffffu);
            if (nodes > 2) {
                atomicAdd(&counters[4 * half + 2], even >> 16);
                atomicAdd(&counters[4 * half + 3], odd >> 16);
            }
        }
    }
}

template <typename T, bool weighted, int step>
__global__ void __launch_bounds__(count_threads) count_points(OrbGround<T> ground) {
    constexpr int nodes = 1 << step;
    __shared__ OrbCuts<T, most_bins> cuts;
    __shared__ OrbBrackets<T> brackets;
    __shared__ uint32_t below[8], above[8], listed[most_nodes], axes;
    __shared__ unsigned long long base[most_nodes], weights[4][most_nodes];
    __shared__ T list_value[tile_points];
    __shared__ uint16_t list_place[tile_points];
    __shared__ uint8_t list_node[tile_points];
    __shared__ uint32_t list_size;
    const int64_t tile = blockIdx.x;
    const int thread = threadIdx.x;
    if (tile >= ground.tiles.first[ground.tiles.roots] || backend::stopped(ground.status))
        return;
    const OrbTile here = OrbTile::of(ground, tile);
    if (thread == 0)
        axes = 0, list_size = 0;
    if (thread < 8)
        below[thread] = above[thread] = 0;
    __syncthreads();
    if (thread < nodes) {
        brackets.load(ground.node, ground.parts, here.root, step, thread);
        listed[thread] = 0;
        for (int k = 0; k < 4; ++k)
            weights[k][thread] = 0;
        if (brackets.cell[thread] != 0)
            atomicOr(&axes, 1u << brackets.axis[thread]);
    }
    if (thread >= 1 && thread < nodes) {
        cuts.load(ground.node, ground.parts, here.root, thread);
        atomicOr(&axes, 1u << cuts.axis[thread]);
    }
    __syncthreads();
    const uint32_t read = axes;
    uint64_t left = 0, right = 0;
    unsigned long long sums[4][weighted ? nodes : 1] = {};
    const auto add_weight = [&](int node, bool in_band, uint64_t w) {
#pragma unroll
        for (int m = 0; m < nodes; ++m)
            if (m == node) {
                sums[in_band ? 2 : 0][weighted ? m : 0] += w & 0xffffffffu;
                sums[in_band ? 3 : 1][weighted ? m : 0] += w >> 32;
            }
    };
    constexpr int batch = sizeof(T) == 4 ? 8 : 4;
    for (int first = 0; first < count_items; first += batch) {
        T x[batch][3];
#pragma unroll
        for (int i = 0; i < batch; ++i) {
            const int local = (first + i) * count_threads + thread;
            const int64_t place = here.begin + local;
#pragma unroll
            for (int axis = 0; axis < 3; ++axis)
                x[i][axis] = ((read >> axis) & 1) != 0 && local < here.count
                                 ? __ldcs(ground.from.c[axis] + place)
                                 : T(0);
        }
#pragma unroll
        for (int i = 0; i < batch; ++i) {
            const int local = (first + i) * count_threads + thread;
            if (local >= here.count)
                break;
            const int64_t place = here.begin + local;
            const int node = descend<step>(cuts, ground.from, x[i], place);
            const int axis = brackets.axis[node];
            const T v = axis == 0 ? x[i][0] : axis == 1 ? x[i][1] : x[i][2];
            const bool is_below = v < brackets.low[node], is_above = v > brackets.high[node];
            const uint64_t one = 1ull << (8 * node);
            left += is_below ? one : 0;
            right += is_above ? one : 0;
            if (weighted && is_below)
                add_weight(node, false, ground.from.weight[place]);
            if (is_below || is_above)
                continue;
            if (weighted)
                add_weight(node, true, ground.from.weight[place]);
            const uint32_t slot = atomicAdd(&list_size, 1u);
            list_value[slot] = v;
            list_place[slot] = static_cast<uint16_t>(local);
            list_node[slot] = static_cast<uint8_t>(node);
        }
    }
    add_fields<nodes>(left, below);
    add_fields<nodes>(right, above);
    if (weighted)
        for (int k = 0; k < 4; ++k)
            for (int m = 0; m < nodes; ++m) {
                unsigned long long sum = sums[k][weighted ? m : 0];
                for (int offset = 16; offset > 0; offset /= 2)
                    sum += __shfl_xor_sync(~0u, sum, offset);
                if ((thread & 31) == 0 && sum != 0)
                    atomicAdd(&weights[k][m], sum);
            }
    __syncthreads();
    const int kept = static_cast<int>(list_size);
    for (int s = thread; s < kept; s += count_threads)
        atomicAdd(&listed[list_node[s]], 1u);
    __syncthreads();
    if (thread < nodes) {
        const int32_t k = brackets.cell[thread];
        if (k != 0) {
            OrbNode& cell = ground.node[k];
            if (below[thread] != 0)
                atomicAdd(&cell.below.count, static_cast<unsigned long long>(below[thread]));
            if (weighted) {
                atomicAdd(&cell.below.low, weights[0][thread]), atomicAdd(&cell.below.high, weights[1][thread]);
                atomicAdd(&cell.band.low, weights[2][thread]), atomicAdd(&cell.band.high, weights[3][thread]);
            }
            base[thread] = listed[thread] != 0 ? cell.begin + atomicAdd(&cell.listed, 
                                                     static_cast<unsigned long long>(listed[thread])) : 0;
        }
        if (step + 1 == ground.tiles.levels) {
            uint32_t* histogram = ground.tiles.histogram + here.histogram;
            histogram[(2 * thread) * here.stride] = below[thread];
            histogram[(2 * thread + 1) * here.stride] = above[thread];
        }
    }
    __syncthreads();
    for (int s = thread; s < kept; s += count_threads) {
        const int node = list_node[s];
        const unsigned long long at = base[node] + atomicSub(&listed[node], 1u) - 1;
        ground.list_value[at] = list_value[s];
        ground.list_place[at] = static_cast<uint32_t>(here.begin + list_place[s]);
    }
}

/// Brackets that missed: the points on the cut's side of the first bracket go to the list, too.
template <typename T>
__global__ void __launch_bounds__(count_threads) list_again(OrbGround<T> ground, int step) {
    if (ground.misses[1] == 0 || backend::stopped(ground.status))
        return;
    __shared__ OrbCuts<T, most_bins> cuts;
    __shared__ OrbBrackets<T> brackets;
    __shared__ int side[most_nodes];
    const int64_t tiles = ground.tiles.first[ground.tiles.roots];
    const int nodes = 1 << step, thread = threadIdx.x;
    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const OrbTile here = OrbTile::of(ground, tile);
        __syncthreads();
        if (thread < nodes) {
            brackets.load(ground.node, ground.parts, here.root, step, thread);
            side[thread] = brackets.cell[thread] != 0 ? ground.node[brackets.cell[thread]].missed : 0;
        }
        if (thread >= 1 && thread < nodes)
            cuts.load(ground.node, ground.parts, here.root, thread);
        __syncthreads();
        for (int local = thread; local < here.count; local += count_threads) {
            const int64_t place = here.begin + local;
            int at = 1;
            for (int level = 0; level < step; ++level) {
                const T v = ground.from.c[cuts.axis[at]][place], split = cuts.split[at];
                const bool right = v > split || (v == split && ground.from.id_of(place) >= cuts.tie[at]);
                at = 2 * at + (right ? 1 : 0);
            }
            const int node = at - nodes;
            if (side[node] == 0)
                continue;
            const T v = ground.from.c[brackets.axis[node]][place];
            if (v < brackets.low[node] || v > brackets.high[node])
                continue;
            OrbNode& cell = ground.node[brackets.cell[node]];
            const int64_t slot = cell.begin + static_cast<int64_t>(atomicAdd(&cell.listed, 1ull));
            ground.list_value[slot] = v;
            ground.list_place[slot] = static_cast<uint32_t>(place);
            if (step + 1 == ground.tiles.levels)
                atomicSub(&ground.tiles.histogram[here.histogram +
                                                  (2 * node + (side[node] > 0 ? 1 : 0)) * here.stride],
                          1u);
        }
    }
}

template <typename T, int step>
void launch_count(backend::Queue& queue, const OrbGround<T>& ground) {
    const auto blocks = static_cast<unsigned>(ground.tiles.most);
    if (ground.from.weight != nullptr)
        count_points<T, true, step><<<blocks, count_threads, 0, queue.stream()>>>(ground);
    else
        count_points<T, false, step><<<blocks, count_threads, 0, queue.stream()>>>(ground);
}

template <typename T>
void orb_count(backend::Queue& queue, const OrbGround<T>& ground, int, int step) {
    if (step == 0)
        launch_count<T, 0>(queue, ground);
    else if (step == 1)
        launch_count<T, 1>(queue, ground);
    else if (step == 2)
        launch_count<T, 2>(queue, ground);
    else
        launch_count<T, 3>(queue, ground);
    GRAFT_CUDA_LAUNCHED("count_points");
    ++queue.launches;
}

template <typename T>
void orb_count_again(backend::Queue& queue, const OrbGround<T>& ground, int, int step) {
    const auto blocks = static_cast<unsigned>(
        std::min<int64_t>(ground.tiles.most, 8 * int64_t{queue.multiprocessors()}));
    list_again<T><<<blocks, count_threads, 0, queue.stream()>>>(ground, step);
    GRAFT_CUDA_LAUNCHED("list_again");
    ++queue.launches;
}

} // namespace graft::decompose
