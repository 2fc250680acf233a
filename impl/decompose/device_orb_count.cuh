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
struct alignas(4 * sizeof(T)) OrbBracket {
    T low, high;
    std::conditional_t<sizeof(T) == 8, int64_t, int32_t> axis, unused;
};

template <typename T>
struct OrbBrackets {
    OrbBracket<T> at[most_nodes];
    int32_t cell[most_nodes]; // 0: nothing to find here

    __device__ void load(const OrbNode* node, int32_t parts, int32_t root, int step, int local) {
        const int32_t k = (root << step) + local;
        const bool open = k < parts && node[k].stage != SearchStage::idle;
        cell[local] = open ? k : 0;
        at[local].axis = open ? node[k].axis : 0;
        at[local].low = open ? static_cast<T>(node[k].low) : static_cast<T>(INFINITY);
        at[local].high = open ? static_cast<T>(node[k].high) : static_cast<T>(INFINITY);
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

/// The cell (0 ... 2^step - 1) of a step that a point is in. Ids are read only where a coordinate is a cut's.
template <int step, typename T, typename Cuts>
__device__ __forceinline__ int descend(const Cuts& cuts, const OrbColumns<T>& from, const T (&x)[3],
                                       int64_t place) {
    int local = 1;
    bool tied = false;
#pragma unroll
    for (int level = 0; level < step; ++level) {
        const OrbSplit<T> cut = cuts.at[local];
        const T v = pick(x, static_cast<int>(cut.axis));
        tied = tied || v == cut.split;
        local = 2 * local + (v >= cut.split ? 1 : 0);
    }
    if (step > 0 && tied) {
        local = 1;
        for (int level = 0; level < step; ++level) {
            const T v = pick(x, static_cast<int>(cuts.at[local].axis)), split = cuts.at[local].split;
            const bool right = v > split || (v == split && from.id_of(place) >= cuts.tie[local]);
            local = 2 * local + (right ? 1 : 0);
        }
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

template <typename T, bool weighted, int step, bool last>
__global__ void __launch_bounds__(count_threads) count_points(OrbGround<T> ground) {
    constexpr int nodes = 1 << step, batch = 8;
    __shared__ OrbCuts<T, most_bins> cuts;
    __shared__ OrbBrackets<T> brackets;
    __shared__ uint32_t below[8], above[8], listed[most_nodes], axes;
    __shared__ unsigned long long base[most_nodes], weights[4][most_nodes];
    __shared__ T list_value[tile_points];
    __shared__ uint16_t list_tag[tile_points]; // place in the tile, and the cell from bit 12 on
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
            atomicOr(&axes, 1u << brackets.at[thread].axis);
    }
    if (thread >= 1 && thread < nodes) {
        cuts.load(ground.node, ground.parts, here.root, thread);
        atomicOr(&axes, 1u << cuts.at[thread].axis);
    }
    __syncthreads();
    const uint32_t read = axes;
    uint64_t left = 0, right = 0;
    unsigned long long sums[4][weighted ? nodes : 1] = {};
    const auto add_weight = [&](int node, bool in_band, uint64_t w) {
#pragma unroll
        for (int m = 0; m < nodes; ++m)
            if (m == node && in_band) {
                sums[2][weighted ? m : 0] += w & 0xffffffffu, sums[3][weighted ? m : 0] += w >> 32;
            } else if (m == node) {
                sums[0][weighted ? m : 0] += w & 0xffffffffu, sums[1][weighted ? m : 0] += w >> 32;
            }
    };
    /// `many` points of this thread, count_threads apart from `local` on: counted, and listed when within.
    const auto take = [&](const auto& x, int local) {
        constexpr int many = sizeof(x) / sizeof(x[0]);
        T value[many];
        uint32_t within = 0, where = 0; // four bits each hold the cell
#pragma unroll
        for (int i = 0; i < many; ++i) {
            const int64_t place = here.begin + local + i * count_threads;
            const int node = descend<step>(cuts, ground.from, x[i], place);
            const OrbBracket<T> bracket = brackets.at[node];
            value[i] = step == 0 ? x[i][0] : pick(x[i], static_cast<int>(bracket.axis));
            const bool is_below = value[i] < bracket.low, is_above = value[i] > bracket.high;
            const uint64_t one = 1ull << (8 * node);
            left += is_below ? one : 0;
            if (last)
                right += is_above ? one : 0;
            if (weighted && !is_above)
                add_weight(node, !is_below, ground.from.weight[place]);
            within |= (is_below || is_above ? 0u : 1u) << i;
            where |= static_cast<uint32_t>(node) << (4 * i);
        }
        if (within == 0)
            return;
        uint32_t slot = atomicAdd(&list_size, static_cast<uint32_t>(__popc(within)));
#pragma unroll
        for (int i = 0; i < many; ++i)
            if (((within >> i) & 1) != 0) {
                list_value[slot] = value[i];
                list_tag[slot] = static_cast<uint16_t>((local + i * count_threads) | (((where >> (4 * i)) & 7) << 12));
                ++slot;
            }
    };
    if (here.count == tile_points) {
        const T* column[3];
#pragma unroll
        for (int axis = 0; axis < 3; ++axis)
            column[axis] = ground.from.c[axis] + here.begin + thread;
        const T* only = ground.from.c[brackets.at[0].axis] + here.begin + thread;
        for (int first = 0; first < count_items; first += batch) {
            T x[batch][3];
#pragma unroll
            for (int i = 0; i < batch; ++i)
#pragma unroll
                for (int axis = 0; axis < 3; ++axis)
                    if (step == 0)
                        x[i][axis] = axis == 0 ? __ldcs(only + (first + i) * count_threads) : T(0);
                    else
                        x[i][axis] = ((read >> axis) & 1) != 0
                                         ? __ldcs(column[axis] + (first + i) * count_threads)
                                         : T(0);
            take(x, first * count_threads + thread);
        }
    } else {
        for (int local = thread; local < here.count; local += count_threads) {
            T x[1][3];
            for (int axis = 0; axis < 3; ++axis)
                x[0][axis] = ((read >> axis) & 1) != 0 ? ground.from.c[axis][here.begin + local] : T(0);
            if (step == 0)
                x[0][0] = pick(x[0], static_cast<int>(brackets.at[0].axis));
            take(x, local);
        }
    }
    add_fields<nodes>(left, below);
    if (last)
        add_fields<nodes>(right, above);
    if (weighted)
#pragma unroll
        for (int k = 0; k < 4; ++k)
#pragma unroll
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
        atomicAdd(&listed[list_tag[s] >> 12], 1u);
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
        if (last) {
            uint32_t* histogram = ground.tiles.histogram + here.histogram;
            histogram[(2 * thread) * here.stride] = below[thread];
            histogram[(2 * thread + 1) * here.stride] = above[thread];
        }
    }
    __syncthreads();
    for (int s = thread; s < kept; s += count_threads) {
        const int node = list_tag[s] >> 12;
        const unsigned long long at = base[node] + atomicSub(&listed[node], 1u) - 1;
        ground.list_value[at] = list_value[s];
        ground.list_place[at] = static_cast<uint32_t>(here.begin + (list_tag[s] & (tile_points - 1)));
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
                const T v = ground.from.c[cuts.at[at].axis][place], split = cuts.at[at].split;
                const bool right = v > split || (v == split && ground.from.id_of(place) >= cuts.tie[at]);
                at = 2 * at + (right ? 1 : 0);
            }
            const int node = at - nodes;
            if (side[node] == 0)
                continue;
            const T v = ground.from.c[brackets.at[node].axis][place];
            if (v < brackets.at[node].low || v > brackets.at[node].high)
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
    const bool last = step + 1 == ground.tiles.levels;
    const auto launch = [&](auto kernel) { kernel<<<blocks, count_threads, 0, queue.stream()>>>(ground); };
    if (ground.from.weight != nullptr)
        last ? launch(count_points<T, true, step, true>) : launch(count_points<T, true, step, false>);
    else
        last ? launch(count_points<T, false, step, true>) : launch(count_points<T, false, step, false>);
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
