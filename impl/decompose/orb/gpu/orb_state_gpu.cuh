// SPDX-License-Identifier: BSD-3-Clause
// What the kernels of device ORB share: the node of the heap, where its search stands, and the columns of
// points.
//
// Invariants: points of a node are one run [begin, begin + count) of the arrays once its round is over; within
// a round the run is where they will be, and the list of the node's bracket stands there in the other arrays,
// so a list never lacks room. `split` decides: left are coordinates below it, and at it the ids below `tie`.
#pragma once

#include "backend/queue_gpu.cuh"
#include "decompose/orb/cell_rule.hpp"
#include "decompose/orb/cut_goal.hpp"
#include "decompose/orb/gpu/orb_gpu.cuh"

#include <cstdint>
#include <type_traits>

namespace graft::decompose {

constexpr int tile_points = 2048;
constexpr int most_levels = 4; // of a round
constexpr int most_nodes = 1 << (most_levels - 1), most_bins = 1 << most_levels;

constexpr unsigned long long too_many = ~0ull;

enum class SearchStage : int32_t { idle = 0, images = 1, ids = 2, found = 3 };

/// Sums that many threads add to.
struct AtomicSum {
    unsigned long long count, low, high; // weight = low + 2^32 high
    __device__ Wide weight() const { return static_cast<Wide>(low) + (static_cast<Wide>(high) << 32); }
};

struct OrbNode {
    Cell cell;
    CutGoal goal;
    Wide weight;
    int64_t begin, count;
    double split;
    int32_t axis;
    SearchStage stage;
    // The pass: points with low <= coordinate <= high are listed.
    double low, high;
    AtomicSum below, band;
    int32_t missed;            // 0: no; -1: the cut is below the first bracket, 1: above it
    unsigned long long listed; // length of the list
    // The selection: the crossing point's image (or id) is in the window.
    uint64_t window_low, window_high, image;
    int64_t base_count, inside_count, heap_begin, heap_end;
    Wide base_weight, inside_weight;
    unsigned long long next_id; // smallest id of the heap above the crossing point's
    unsigned long long kept;    // taken over from the list after the first digit, or too_many
};

/// Columns of points; index NULL: a point's index is its place.
template <typename T>
struct OrbColumns {
    const T* c[3];
    const uint32_t* index;
    const uint64_t* weight;
    const int64_t* id; // by index

    __device__ uint32_t index_of(int64_t place) const {
        return index != nullptr ? index[place] : static_cast<uint32_t>(place);
    }
    __device__ int64_t id_of_index(uint32_t i) const {
        return id != nullptr ? id[i] : static_cast<int64_t>(i);
    }
    __device__ int64_t id_of(int64_t place) const { return id_of_index(index_of(place)); }
};

template <typename T>
struct OrbArrays {
    T* c[3];
    uint32_t* index;
    uint64_t* weight;
};

/// Tiles of a round: each belongs to one root; table[tile] = root, first[root] = its first tile.
struct OrbTiles {
    const int32_t* first;
    const uint32_t* table;
    int32_t roots, first_cell;
    int levels;          // of the round
    int64_t most;        // upper bound of their number, first[roots] is the number
    uint32_t* histogram; // 2^levels counters a tile: [root][bin][tile]
};

struct OrbSamples {
    void* c[3];
    uint32_t* index;
    uint32_t* weight; // scaled, NULL: 1 each
    uint8_t* cell;    // which of the root's cells of this step; no_cell: none that is cut
    int64_t per_root; // room, a multiple of 16
};
constexpr uint8_t no_cell = 255;

/// Everything a kernel may need, by value.
template <typename T>
struct OrbView {
    OrbNode* node; // heap
    int32_t parts;
    int dimension;
    int64_t cap;
    OrbColumns<T> from;
    T* list_value;        // in the other arrays
    uint32_t* list_place; // place of a listed point in these arrays
    OrbTiles tiles;
    OrbSamples samples;
    uint32_t* bins; // counts of the selection, bins_per_node each
    unsigned long long* bins_low;
    unsigned long long* bins_high;
    int log2_bins;
    T* kept_value; // what the first digit left of the lists, kept_room for each cell of a level
    uint32_t* kept_place;
    int64_t kept_room;
    unsigned long long* misses; // [0]: all so far, [1]: of this level; [2]: cells still searching (select)
    int32_t* missed_cell;       // heap indices of those of this level, in no order
    backend::DeviceStatus* status;
};

__device__ inline uint64_t image_of(float x) {
    const uint32_t bits = __float_as_uint(x + 0.0f);
    return bits ^ (static_cast<uint32_t>(-static_cast<int32_t>(bits >> 31)) | 0x80000000u);
}
__device__ inline uint64_t image_of(double x) {
    return ordered_image(x);
}
/// The coordinate whose image it is.
template <typename T>
__device__ inline T value_of(uint64_t image) {
    if constexpr (sizeof(T) == 8)
        return from_ordered_image(image);
    else {
        const uint32_t bits = static_cast<uint32_t>(image);
        return __uint_as_float((bits >> 31) != 0 ? bits ^ 0x80000000u : ~bits);
    }
}
/// Internal cells of a level are heap indices 2^level ... end - 1.
__host__ __device__ inline int32_t end_of_level(int level, int32_t parts) {
    const int64_t end = int64_t{2} << level;
    return static_cast<int32_t>(end < parts ? end : parts);
}

template <typename T>
__device__ __forceinline__ T pick(const T (&x)[3], int axis) {
    const T first = axis == 1 ? x[1] : x[0];
    return axis == 2 ? x[2] : first;
}

/// A cut. above() is split - coordinate, rounded: 0 for equal ones only, and its sign is exact.
template <typename T>
struct alignas(2 * sizeof(T)) OrbSplit {
    T split;
    int64_t of;

    OrbSplit() = default;
    __device__ OrbSplit(T at, int axis) : split(at), of(axis) {}
    __device__ int axis() const { return static_cast<int>(of); }
    __device__ __forceinline__ T above(const T (&x)[3]) const { return split - pick(x, axis()); }
};
/// As a plane: the axis is where `minus` is -1; its other numbers are 0. Multiply-adds (exact: products are,
/// and a sum of two numbers never rounds to 0) as the passes are bound by comparing and choosing.
template <>
struct alignas(16) OrbSplit<float> {
    float minus[3], split;

    OrbSplit() = default;
    __device__ OrbSplit(float at, int axis)
        : minus{axis == 0 ? -1.0f : 0.0f, axis == 1 ? -1.0f : 0.0f, axis == 2 ? -1.0f : 0.0f}, split(at) {}
    __device__ int axis() const { return minus[2] != 0 ? 2 : minus[1] != 0 ? 1 : 0; }
    __device__ __forceinline__ float above(const float (&x)[3]) const {
        return fmaf(minus[0], x[0], fmaf(minus[1], x[1], fmaf(minus[2], x[2], split)));
    }
};

/// The cuts of a root's subtree in shared memory, by local heap index 1 ... 2^levels - 1. A leaf's points,
/// and those of cells below one, go left all the way.
template <typename T, int size>
struct OrbCuts {
    OrbSplit<T> at[size];
    int64_t tie[size];

    __device__ void load(const OrbNode* node, int32_t parts, int32_t root, int local) {
        int32_t cell = local == 1 ? root : 0;
        if (local > 1) {
            const int depth = 31 - __clz(local);
            cell = (root << depth) + (local - (1 << depth));
        }
        const bool cut = cell < parts;
        at[local] = OrbSplit<T>(cut ? static_cast<T>(node[cell].split) : static_cast<T>(INFINITY),
                                cut ? node[cell].axis : 0);
        tie[local] = cut ? node[cell].cell.tie : lowest_id;
    }
};

/// 2 n + 1 for a negative number (-0, too), else 2 n.
__device__ __forceinline__ int with_sign(int n, float x) {
    return static_cast<int>(__funnelshift_l(__float_as_uint(x), static_cast<uint32_t>(n), 1));
}
__device__ __forceinline__ int with_sign(int n, double x) {
    return static_cast<int>(
        __funnelshift_l(static_cast<uint32_t>(__double2hiint(x)), static_cast<uint32_t>(n), 1));
}

} // namespace graft::decompose
