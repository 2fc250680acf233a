// SPDX-License-Identifier: BSD-3-Clause
// Where a tile's points are, and which cell of its root's subtree each point is
// in.
#pragma once

#include "decompose/orb/gpu/orb_steps_gpu.cuh"

namespace graft::decompose {

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
    int32_t root;            // heap index
    int64_t begin, root_end; // points
    int count;
    int64_t histogram, stride; // of bin 0, and from bin to bin

    template <typename T>
    __device__ static OrbTile of(const OrbView<T>& view, int64_t tile) {
        const OrbTiles& tiles = view.tiles;
        const int32_t r = static_cast<int32_t>(tiles.table[tile]);
        const OrbNode& node = view.node[tiles.first_cell + r];
        const int64_t local = tile - tiles.first[r];
        OrbTile here;
        here.root = tiles.first_cell + r;
        here.begin = node.begin + local * tile_points;
        here.root_end = node.begin + node.count;
        here.count = static_cast<int>(
            min(static_cast<long long>(tile_points), static_cast<long long>(here.root_end - here.begin)));
        here.stride = tiles.first[r + 1] - tiles.first[r];
        here.histogram = (static_cast<int64_t>(tiles.first[r]) << tiles.levels) + local;
        return here;
    }
};

/// The cell of a step that a point is in, as local heap index (2^step ... 2^(step + 1) - 1), unless a
/// coordinate of it is a cut's: then `tied` becomes true and the answer is descend_by_ids'.
template <int step, typename T, typename Cuts>
__device__ __forceinline__ int descend_untied(const Cuts& cuts, const T (&x)[3], bool& tied) {
    int local = 1;
#pragma unroll
    for (int level = 0; level < step; ++level) {
        const OrbSplit<T> cut = cuts.at[local];
        const T left = cut.above(x);
        tied |= left == 0;
        local = with_sign(local, left);
    }
    return local;
}
/// The same by coordinates and ids; ids are read only where a coordinate is a cut's.
template <typename T, typename Cuts>
__device__ __forceinline__ int descend_by_ids(const Cuts& cuts, const OrbColumns<T>& from, int step,
                                              const T (&x)[3], int64_t place) {
    int local = 1;
    for (int level = 0; level < step; ++level) {
        const T left = cuts.at[local].above(x);
        const bool right = left < 0 || (left == 0 && from.id_of(place) >= cuts.tie[local]);
        local = 2 * local + (right ? 1 : 0);
    }
    return local;
}
/// The same out of line: where ties are rare.
template <typename T, typename Cuts>
__device__ __noinline__ int descend_exactly(const Cuts* cuts, const OrbColumns<T>* from, int step, T x, T y,
                                            T z, int64_t place) {
    const T point[3] = {x, y, z};
    return descend_by_ids(*cuts, *from, step, point, place);
}

} // namespace graft::decompose
