// What the pass over points shares within a block, and the second pass where brackets missed their cuts.
#pragma once

#include "decompose/device_orb_descend.cuh"

namespace graft::decompose {

constexpr int count_threads = 256, count_items = tile_points / count_threads;
constexpr int most_tiles = 8; // of one block: counters have eight bits
constexpr int list_room = 2048;
static_assert(count_items <= 8 && count_items * most_tiles < 256);

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

/// What one block of the pass shares.
template <typename T>
struct CountShared {
    OrbCuts<T, most_nodes> cuts;
    OrbBrackets<T> brackets;
    uint32_t below[most_tiles][8], above[most_tiles][8], listed[most_nodes], axes, list_size;
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
        bool missed = false;
        __syncthreads();
        if (thread < nodes) {
            brackets.load(ground.node, ground.parts, here.root, step, thread);
            side[thread] = brackets.cell[thread] != 0 ? ground.node[brackets.cell[thread]].missed : 0;
            missed = side[thread] != 0;
        }
        if (!__syncthreads_or(missed ? 1 : 0))
            continue;
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

} // namespace graft::decompose
