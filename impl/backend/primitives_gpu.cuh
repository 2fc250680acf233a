// SPDX-License-Identifier: BSD-3-Clause
// Sort, scan, reduce and partition on the device: CUB, compiled once, behind plain functions.
//
// All are enqueued on the queue's stream and return at once; scratch comes from the queue and is kept.
// Results are the same bits every run. Counts are known to the host; where the device alone knows how many
// items there are, callers pass the capacity and keep the tail neutral.
#pragma once

#include "backend/queue_gpu.cuh"

#include <cstdint>

namespace graft::backend {

/// Stable ascending radix sort of (key, value) pairs by key bits [begin_bit, end_bit); in and out must
/// differ. 8 bits a pass: cost about 24 n bytes a pass for 64-bit keys.
void sort_pairs(Queue& queue, const uint64_t* keys_in, uint64_t* keys_out, const int32_t* values_in,
                int32_t* values_out, int64_t n, int begin_bit = 0, int end_bit = 64);
void sort_pairs(Queue& queue, const uint32_t* keys_in, uint32_t* keys_out, const int32_t* values_in,
                int32_t* values_out, int64_t n, int begin_bit = 0, int end_bit = 32);
void sort_keys(Queue& queue, const uint64_t* keys_in, uint64_t* keys_out, int64_t n, int begin_bit = 0,
               int end_bit = 64);

/// out[i] = sum of in[0 ... i); out may be in. To know the total, pass n + 1 items with any last one.
void exclusive_sum(Queue& queue, const int32_t* in, int32_t* out, int64_t n);
void exclusive_sum(Queue& queue, const int32_t* in, int64_t* out, int64_t n);
void exclusive_sum(Queue& queue, const int64_t* in, int64_t* out, int64_t n);

/// out[0] = sum or largest of in (device). Summation in a fixed order for one n.
void sum(Queue& queue, const double* in, double* out, int64_t n);
void sum(Queue& queue, const int64_t* in, int64_t* out, int64_t n);

/// In a kernel: the sum over a block's threads, whole warps of them and at most so many, in a fixed order. All come here; once.
template <int most_threads, typename T>
__device__ T block_sum(T value) {
    __shared__ T parts[most_threads / 32];
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(~0u, value, step);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
    for (unsigned warp = 0; warp < blockDim.x / 32; ++warp)
        value += parts[warp];
    return value;
}

/// The indices i (ascending) with flag[i] != 0 to out, their number to *count (device).
void select_flagged(Queue& queue, const uint8_t* flag, int32_t* out, int32_t* count, int64_t n);

} // namespace graft::backend
