// SPDX-License-Identifier: BSD-3-Clause
// What the pass over points shares within a block, and the second pass where brackets missed their cuts.
#pragma once

#include "decompose/orb/gpu/descend_gpu.cuh"

namespace graft::decompose {

constexpr int count_threads = 256, count_items = tile_points / count_threads;
constexpr int most_tiles = 8; // of one block: its threads' counters have eight bits, a tile's four
constexpr int list_room = 2048;
static_assert(count_items < 16 && count_items * most_tiles < 256);
static_assert(2 * most_nodes * most_tiles <= count_threads);

/// Counters of one thread, one a cell, in a word: of `bits` each.
template <int nodes, int bits>
struct Fields {
    static_assert(nodes * bits <= 32);
    uint32_t word = 0;

    /// What counts one point of a cell given by its local heap index, nodes ... 2 nodes - 1. (Shifts are
    /// taken modulo 32, which does away with the first index where fields fill the word.)
    static __device__ __forceinline__ uint32_t one(int local) {
        return __funnelshift_l(0u, 1u,
                               static_cast<uint32_t>(bits * (nodes * bits == 32 ? local : local - nodes)));
    }
};

/// Adds fields of eight bits over the block into shared counters, one a cell.
template <int nodes>
__device__ __forceinline__ void add_fields(const Fields<nodes, 8>& fields, uint32_t* counters) {
    const uint32_t even = __reduce_add_sync(~0u, fields.word & 0x00ff00ffu);
    const uint32_t odd = nodes > 1 ? __reduce_add_sync(~0u, (fields.word >> 8) & 0x00ff00ffu) : 0;
    if ((threadIdx.x & 31) != 0)
        return;
    atomicAdd(&counters[0], even & 0xffffu);
    if (nodes > 1)
        atomicAdd(&counters[1], odd & 0xffffu);
    if (nodes > 2) {
        atomicAdd(&counters[2], even >> 16);
        atomicAdd(&counters[3], odd >> 16);
    }
}
/// Sums over the warp of fields of four bits (256 of 16 bits): cell k in the low half of sum[k], cell 4 + k
/// in the high one.
template <int nodes>
__device__ __forceinline__ void sum_fields(uint32_t word, uint32_t (&sum)[4]) {
#pragma unroll
    for (int k = 0; k < 4; ++k)
        sum[k] = k < nodes ? __reduce_add_sync(~0u, (word >> (4 * k)) & 0x000f000fu) : 0;
}

/// value[i], which stay in registers.
template <typename T, int many>
__device__ __forceinline__ T chosen(const T (&value)[many], int i) {
    static_assert((many & (many - 1)) == 0);
    T left[many];
#pragma unroll
    for (int k = 0; k < many; ++k)
        left[k] = value[k];
#pragma unroll
    for (int half = many / 2, bit = 1; half > 0; half /= 2, bit *= 2)
#pragma unroll
        for (int k = 0; k < half; ++k)
            left[k] = (i & bit) != 0 ? left[2 * k + 1] : left[2 * k];
    return left[0];
}

/// What one block of the pass shares.
template <typename T>
struct CountShared {
    OrbCuts<T, most_nodes> cuts;
    OrbBrackets<T> brackets;
    uint4 tile_sums[most_tiles][count_threads / 32][2]; // of a tile's warps, below and above: sum_fields
    uint32_t below[most_nodes], listed[most_nodes], axes, list_size;
    unsigned long long base[most_nodes], weights[4][most_nodes];
    T list_value[list_room];
    uint32_t list_tag[list_room]; // place after the block's first point, and the cell from bit 16 on
};

/// The shared list is full (heaps of equal coordinates, or a wide bracket).
template <typename T>
__device__ __noinline__ void list_now(OrbNode* cell, T* list_value, uint32_t* list_place, T value,
                                      uint32_t place) {
    const int64_t slot = cell->begin + static_cast<int64_t>(atomicAdd(&cell->listed, 1ull));
    list_value[slot] = value;
    list_place[slot] = place;
}

template <typename T>
struct RecountShared {
    OrbCuts<T, most_bins> cuts;
    OrbBrackets<T> brackets;
    int side[most_nodes];
};

/// One tile again, for cell `only` of the step in its root, or for all (-1) whose brackets missed.
template <typename T>
__device__ void list_tile_again(const OrbView<T>& view, int step, int64_t tile, int only,
                                RecountShared<T>& shared) {
    const OrbTile here = OrbTile::of(view, tile);
    const int nodes = 1 << step, thread = threadIdx.x;
    bool missed = false;
    __syncthreads();
    if (thread < nodes) {
        shared.brackets.load(view.node, view.parts, here.root, step, thread);
        const int32_t k = shared.brackets.cell[thread];
        shared.side[thread] = k != 0 && (only < 0 || only == thread) ? view.node[k].missed : 0;
        missed = shared.side[thread] != 0;
    }
    if (!__syncthreads_or(missed ? 1 : 0))
        return;
    if (thread >= 1 && thread < nodes)
        shared.cuts.load(view.node, view.parts, here.root, thread);
    __syncthreads();
    for (int local = thread; local < here.count; local += count_threads) {
        const int64_t place = here.begin + local;
        int at = 1;
        for (int level = 0; level < step; ++level) {
            const OrbSplit<T>& cut = shared.cuts.at[at];
            const T v = view.from.c[cut.axis()][place], split = cut.split;
            const bool right = v > split || (v == split && view.from.id_of(place) >= shared.cuts.tie[at]);
            at = 2 * at + (right ? 1 : 0);
        }
        const int node = at - nodes;
        if (shared.side[node] == 0)
            continue;
        const T v = view.from.c[shared.brackets.at[node].axis][place];
        if (v < shared.brackets.at[node].low || v > shared.brackets.at[node].high)
            continue;
        const uint32_t peers = __match_any_sync(__activemask(), node);
        const int leader = __ffs(static_cast<int>(peers)) - 1, lane = thread % 32;
        OrbNode& cell = view.node[shared.brackets.cell[node]];
        unsigned long long slot = 0;
        if (lane == leader)
            slot = atomicAdd(&cell.listed, static_cast<unsigned long long>(__popc(peers)));
        slot = __shfl_sync(peers, slot, leader) + __popc(peers & ((1u << lane) - 1));
        view.list_value[cell.begin + static_cast<int64_t>(slot)] = v;
        view.list_place[cell.begin + static_cast<int64_t>(slot)] = static_cast<uint32_t>(place);
        if (step + 1 == view.tiles.levels)
            atomicSub(&view.tiles.histogram[here.histogram +
                                            (2 * node + (shared.side[node] > 0 ? 1 : 0)) * here.stride],
                      1u);
    }
}

/// Brackets that missed: the points on the cut's side of the first bracket go to the list, too. Few cells:
/// the tiles of their roots, all in one row, in turn; many: all tiles.
template <typename T>
__global__ void __launch_bounds__(count_threads) list_again(OrbView<T> view, int step) {
    constexpr unsigned long long few = 256;
    const unsigned long long missed = view.misses[1];
    if (missed == 0 || backend::stopped(view.status))
        return;
    __shared__ RecountShared<T> shared;
    const int64_t tiles = view.tiles.first[view.tiles.roots];
    if (missed > few) {
        for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x)
            list_tile_again(view, step, tile, -1, shared);
        return;
    }
    int64_t before = 0; // tiles of the cells ahead
    for (unsigned long long m = 0; m < missed; ++m) {
        const int32_t k = view.missed_cell[m], r = (k >> step) - view.tiles.first_cell;
        const int64_t first = view.tiles.first[r], end = view.tiles.first[r + 1];
        const int64_t turn = (blockIdx.x + gridDim.x - before % gridDim.x) % gridDim.x;
        for (int64_t tile = first + turn; tile < end; tile += gridDim.x)
            list_tile_again(view, step, tile, k & ((1 << step) - 1), shared);
        before += end - first;
    }
}

} // namespace graft::decompose
