// SPDX-License-Identifier: BSD-3-Clause
// Targets of all pairs that the frame of their block is too coarse for (frame_resolution.hpp), in double.
//
// They are few, or the block straddles far clumps; each looks for close sources (p2p/close_targets_gpu.cuh) when its
// partial sums are added up, so that the kernels above know nothing of it. A thread block collects its own and sums up
// `exact_lanes` at a time: its threads share the sources, and their sums are added in a fixed order. Cost: sources.n
// pairs a target, 16 FP64 slots and 32 / exact_lanes bytes each.
#pragma once

#include "forces/direct/direct_kernel_gpu.cuh"
#include "forces/p2p/pair_exact_gpu.cuh"

namespace graft::forces {

inline constexpr int combine_threads = 128, exact_lanes = 4;

static_assert(DirectShapeWide::threads * DirectShapeWide::lanes % combine_threads == 0 &&
                  DirectShapeFp32::threads * DirectShapeFp32::lanes % combine_threads == 0 &&
                  DirectShapeMixed::threads * DirectShapeMixed::lanes % combine_threads == 0,
              "the targets of a thread block have one frame");

/// What a block of combine_threads has in shared memory for them.
struct ExactTile {
    int place[combine_threads];
    int of_warp[combine_threads / 32];
    double sum[combine_threads / 32][exact_lanes][4];
};

template <DevicePair kind, bool with_potential>
__device__ inline bool is_coarse(const DirectInput& input, const Frame& frame, int64_t k) {
    const DeviceSources& at = input.targets;
    const bool softened = kind != DevicePair::constant || input.plummer;
    const double length = !softened ? 0 : at.softening != nullptr ? at.softening[k] : input.length;
    return (with_potential && loses_itself(frame, length, kind == DevicePair::constant, input.sources.n)) ||
           has_close(input.close, input.sources, at.x[k], at.y[k], at.z[k], close_limit(frame));
}

/// Threads with `coarse` write theirs to tile.place, in order; returns how many there are. All threads call.
__device__ inline int collect(bool coarse, ExactTile& tile) {
    const unsigned mine = __ballot_sync(~0u, coarse);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane == 0)
        tile.of_warp[warp] = __popc(mine);
    __syncthreads();
    int before = __popc(mine & ((1u << lane) - 1)), count = 0;
    for (int w = 0; w < combine_threads / 32; ++w) {
        before += w < warp ? tile.of_warp[w] : 0;
        count += tile.of_warp[w];
    }
    if (coarse)
        tile.place[before] = threadIdx.x;
    __syncthreads();
    return count;
}

/// Sums of targets first + tile.place[at ...] over all sources, frame units, to tile.sum, a row a warp. All
/// threads call.
template <DevicePair kind, bool with_potential>
__device__ void sum_in_double(const DirectInput& input, double scale, int64_t first, int at, int count,
                              ExactTile& tile) {
    const DeviceSources &to = input.targets, &from = input.sources;
    double x[exact_lanes], y[exact_lanes], z[exact_lanes], soft[exact_lanes];
    PairSum<double> sum[exact_lanes] = {};
#pragma unroll
    for (int t = 0; t < exact_lanes; ++t) {
        const int64_t k = first + tile.place[min(at + t, count - 1)];
        x[t] = to.x[k], y[t] = to.y[k], z[t] = to.z[k];
        soft[t] = kind == DevicePair::constant ? common_soft<double>(input.plummer, input.length, scale)
                                               : direct_soft<double, kind>(input, to.softening, k, scale);
    }
    for (int64_t j = threadIdx.x; j < from.n; j += combine_threads) {
        const double q = from.charge[j] * input.charge_scale;
        const double of_source =
            kind == DevicePair::constant ? 0 : direct_soft<double, kind>(input, from.softening, j, scale);
#pragma unroll
        for (int t = 0; t < exact_lanes; ++t) {
            add_softened<kind, with_potential>((from.x[j] - x[t]) * scale, (from.y[j] - y[t]) * scale,
                                               (from.z[j] - z[t]) * scale, q, soft[t], of_source, sum[t]);
        }
    }
    __syncthreads(); // the last sums have been read
#pragma unroll
    for (int t = 0; t < exact_lanes; ++t) {
        double values[4] = {sum[t].x, sum[t].y, sum[t].z, sum[t].potential};
        for (int c = 0; c < (with_potential ? 4 : 3); ++c) {
            for (int step = 16; step > 0; step /= 2)
                values[c] += __shfl_xor_sync(~0u, values[c], step);
            if (threadIdx.x % 32 == 0)
                tile.sum[threadIdx.x / 32][t][c] = values[c];
        }
    }
    __syncthreads();
}

} // namespace graft::forces
