// SPDX-License-Identifier: BSD-3-Clause
// Particles of the 32 leaves of a warp in shared memory, a row a leaf, so that a thread can go through those
// of its own leaf while the warp reads each leaf in one piece: threads that read their own particles from
// memory ask for more lines at a time than the nearest cache holds, and for every line several times.
#pragma once

#include <cuda_pipeline.h>

#include <cstdint>

namespace graft::tree::device {

/// Leaves of so many particles at most are read so.
inline constexpr int most_in_row = 64;

/// What a warp has read: rows one after the other. Room for 32 leaves of 20, which is more than octrees have
/// as a rule; it limits how many warps run at a time.
template <int columns>
struct LeafRows {
    static constexpr int room = 640;
    double value[columns][room];

    /// All lanes together: particles [first, first + count) of this lane's leaf; they are there after the
    /// call. Returns where this lane's row is, or -1: there was no room, or count > most_in_row.
    __device__ int32_t read(const double* const (&from)[columns], int64_t first, int64_t count) {
        const int lane = static_cast<int>(threadIdx.x) % 32;
        const auto own = static_cast<int32_t>(count <= most_in_row ? count : 0);
        int32_t end = own;
        for (int step = 1; step < 32; step *= 2) {
            const int32_t other = __shfl_up_sync(~0u, end, step);
            end += lane >= step ? other : 0;
        }
        const int32_t row = count <= most_in_row && end <= room ? end - own : -1;
#pragma unroll 4
        for (int of = 0; of < 32; ++of) {
            const int64_t begin = __shfl_sync(~0u, first, of);
            const int32_t to = __shfl_sync(~0u, row, of), size = __shfl_sync(~0u, own, of);
            for (int32_t k = lane; to >= 0 && k < size; k += 32)
#pragma unroll
                for (int c = 0; c < columns; ++c)
                    __pipeline_memcpy_async(&value[c][to + k], from[c] + begin + k, sizeof(double));
        }
        arrive();
        return row;
    }
    /// The same for leaves that follow each other from lane 0's on (count 0: none): one piece of memory, so
    /// leaves of any count that there is room for.
    __device__ int32_t read_run(const double* const (&from)[columns], int32_t first, int32_t count) {
        const int32_t begin = __shfl_sync(~0u, first, 0), end = count > 0 ? first + count - begin : 0;
        const int32_t all = min(__reduce_max_sync(~0u, end), room);
#pragma unroll 4
        for (int32_t k = static_cast<int32_t>(threadIdx.x) % 32; k < all; k += 32)
#pragma unroll
            for (int c = 0; c < columns; ++c)
                __pipeline_memcpy_async(&value[c][k], from[c] + begin + k, sizeof(double));
        arrive();
        return end <= room ? first - begin : -1;
    }
    /// Column c as an array in which the particles of `row` have the numbers they have in the tree.
    __device__ const double* column(int c, int32_t row, int64_t first) const {
        return value[c] + row - first;
    }

  private:
    __device__ static void arrive() {
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncwarp();
    }
};

} // namespace graft::tree::device
