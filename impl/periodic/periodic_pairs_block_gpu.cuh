// SPDX-License-Identifier: BSD-3-Clause
// What a block of the pair kernels of a periodic box has in shared memory; where its targets, and images of chunks, are.
#pragma once

#include "periodic/periodic_kernels_gpu.cuh"

namespace graft::periodic::periodic_pairs {

inline constexpr int warps = 4, block = DevicePeriodic::block_targets;
inline constexpr int part_targets = DevicePeriodic::part_targets, parts = block / part_targets;
inline constexpr int lane_images = 4, sharing = 32 / part_targets, at_once = lane_images * sharing;

template <typename T>
struct alignas(16) Source {
    T x, y, z, q;
};

/// Of a warp: images near the block's targets, and those of them near one part's.
template <typename T, forces::DevicePair kind>
struct Images {
    static constexpr int room = sizeof(T) == 4 ? 128 : 64;
    static_assert(room % at_once == 0); // near ones are filled up to whole groups
    static constexpr bool soft_ones = kind != forces::DevicePair::constant;
    Source<T> source[room], near[room];
    float rest[sizeof(T) == 4 ? room : 1][3]; // what rounding took off the places
    T soft[soft_ones ? room : 1], near_soft[soft_ones ? room : 1];
    uint8_t from[sizeof(T) == 4 ? room : 1];  // the one in `source`
    uint32_t print[sizeof(T) == 4 ? room : 1]; // of its particle's coordinates
};

/// Of a block.
template <typename T, forces::DevicePair kind>
struct Targets {
    T x[block], y[block], z[block], soft[kind == forces::DevicePair::constant ? 1 : block];
    float rest[sizeof(T) == 4 ? block : 1][3];
    uint32_t print[sizeof(T) == 4 ? block : 1];
    T centre[parts + 1][3], half[parts + 1][3]; // of the parts' boxes, and of the box of all
};

/// The one image of a chunk that may reach a block's targets, if it is one: its shift in double; in float the way from the
/// frame's centre to its own, in the frame's units, and what rounding took off.
template <typename T>
struct OneImage {
    bool single = false;
    T way[3] = {};
    float rest[sizeof(T) == 4 ? 3 : 1] = {};
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

/// a + b, and what rounding took off it (Knuth's).
__device__ __forceinline__ float exact_sum(float a, float b, float& rest) {
    const float sum = a + b, of_b = sum - a;
    rest = (a - (sum - of_b)) + (b - of_b);
    return sum;
}

template <typename T>
__device__ __forceinline__ BlockRegion find_place(const PeriodicPairs<T>& in, int64_t first, int64_t end, int lane) {
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
        const double extent = in.cutoff * sqrt(g.x * g.x + g.y * g.y + g.z * g.z) + fabs(g.x) * place.half[0] +
                              fabs(g.y) * place.half[1] + fabs(g.z) * place.half[2];
        place.reach[a] = extent * (1 + 1e-9) + 1e-9; // rounding only ever adds an image
        place.count[a] = static_cast<int>(floor(2 * place.reach[a])) + 1;
    }
    return place;
}

} // namespace graft::periodic::periodic_pairs
