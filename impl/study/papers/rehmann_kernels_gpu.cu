// SPDX-License-Identifier: BSD-3-Clause
// rehmann2022's kernels: count-left of listings 9 (a cell), 10 (all cells of a level), 11 (warp primitives),
// make-axis, and the partition of section 6.7.
//
// Floors: count-left reads 4 bytes an element (12 when rows are strided: whole sectors come along); make-axis
// reads and writes 4; partition reads and writes 12 and takes two atomics a block of elements. Listings have
// s_data of 32 words indexed by thread (11) and shared sums over 1,024 threads: mended where they could not
// run.
#include "study/papers/rehmann_gpu.cuh"

#include <cub/block/block_scan.cuh>

#include <algorithm>

namespace graft::study {

namespace {

constexpr unsigned all_lanes = 0xffffffffu;

/// Listings 9 and 10: sums in shared memory by halves, the last warp by shuffles.
template <int threads>
__device__ void reduce_shared(uint32_t* sums, uint32_t* out) {
    const int thread = threadIdx.x;
    __syncthreads();
#pragma unroll
    for (int half = threads / 2; half >= 32; half /= 2) {
        if (thread < half)
            sums[thread] += sums[thread + half];
        __syncthreads();
    }
    if (thread >= 32)
        return;
    uint32_t value = sums[thread];
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(all_lanes, value, offset);
    if (thread == 0)
        *out = value;
}

template <int threads>
__global__ void reduce_cell(const float* in, int64_t stride, int64_t n, float cut, uint32_t* out) {
    __shared__ uint32_t sums[threads];
    sums[threadIdx.x] = 0;
    for (int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x; i < n; i += int64_t{gridDim.x} * threads)
        sums[threadIdx.x] += in[i * stride] <= cut ? 1 : 0;
    reduce_shared<threads>(sums, out + blockIdx.x);
}

template <int threads>
__global__ void reduce_level(const RehmannBlock* blocks, int64_t stride, const float* cuts, uint32_t* out) {
    const RehmannBlock block = blocks[blockIdx.x];
    const float cut = cuts[block.cell];
    if (isnan(cut))
        return;
    __shared__ uint32_t sums[threads];
    sums[threadIdx.x] = 0;
    for (uint32_t i = block.begin + threadIdx.x; i < block.end; i += threads)
        sums[threadIdx.x] += block.in[i * stride] <= cut ? 1 : 0;
    reduce_shared<threads>(sums, out + blockIdx.x);
}

/// `items` loads in flight; the rest of a longer block one by one.
template <int threads, int items>
__global__ void reduce_warp(const RehmannBlock* blocks, int64_t stride, const float* cuts, uint32_t* out) {
    const RehmannBlock block = blocks[blockIdx.x];
    const float cut = cuts[block.cell];
    if (isnan(cut))
        return;
    __shared__ uint32_t sums[32];
    uint32_t value = 0, i = block.begin + threadIdx.x;
    if (block.begin + items * threads <= block.end) {
        float x[items];
#pragma unroll
        for (int k = 0; k < items; ++k)
            x[k] = __ldcs(block.in + (i + k * threads) * stride);
#pragma unroll
        for (int k = 0; k < items; ++k)
            value += x[k] <= cut ? 1 : 0;
        i += items * threads;
    }
    for (; i < block.end; i += threads)
        value += block.in[i * stride] <= cut ? 1 : 0;
    for (int offset = 16; offset > 0; offset >>= 1)
        value += __shfl_down_sync(all_lanes, value, offset);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (lane == 0)
        sums[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = lane < threads / 32 ? sums[lane] : 0;
        for (int offset = 16; offset > 0; offset >>= 1)
            value += __shfl_down_sync(all_lanes, value, offset);
        if (lane == 0)
            out[blockIdx.x] = value;
    }
}

__global__ void read_words(const uint4* in, int64_t n, uint32_t* out) {
    const int64_t first = int64_t{blockIdx.x} * 2048 + threadIdx.x;
    uint4 v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k)
        v[k] = first + k * 256 < n ? __ldcs(in + first + k * 256) : uint4{0, 0, 0, 0};
    uint32_t any = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k)
        any |= v[k].x | v[k].y | v[k].z | v[k].w;
    if (any == 0x7fc12345u) // lest the loads be dropped
        *out = any;
}

__global__ void copy_axis(const RehmannBlock* blocks, int64_t stride, float* column) {
    const RehmannBlock block = blocks[blockIdx.x];
    for (uint32_t i = block.begin + threadIdx.x; i < block.end; i += blockDim.x)
        column[i] = __ldcs(block.in + i * stride);
}

template <int threads>
__global__ void partition_blocks(const RehmannBlock* blocks, const float* cuts, RehmannPoints from,
                                 RehmannPoints to, uint32_t* place, const uint32_t* cell_begin,
                                 const uint32_t* left_count, uint32_t* next) {
    using Scan = cub::BlockScan<int, threads>;
    __shared__ typename Scan::TempStorage scratch;
    __shared__ uint32_t start[2];
    const RehmannBlock block = blocks[blockIdx.x];
    const float cut = cuts[block.cell];
    for (uint32_t first = block.begin; first < block.end; first += threads) {
        const uint32_t i = first + threadIdx.x;
        const bool is_here = i < block.end;
        const int left = is_here && block.in[i * from.stride] <= cut ? 1 : 0;
        int before = 0, all = 0;
        Scan(scratch).ExclusiveSum(left, before, all);
        if (threadIdx.x == 0) {
            const uint32_t here = min(static_cast<uint32_t>(threads), block.end - first);
            start[0] = cell_begin[block.cell] + atomicAdd(&next[2 * block.cell], static_cast<uint32_t>(all));
            start[1] = cell_begin[block.cell] + left_count[block.cell] +
                       atomicAdd(&next[2 * block.cell + 1], here - static_cast<uint32_t>(all));
        }
        __syncthreads();
        const uint32_t at = left != 0 ? start[0] + before : start[1] + threadIdx.x - before;
        if (is_here && place != nullptr)
            place[i] = at;
        if (is_here && to.x[0] != nullptr)
            for (int a = 0; a < 3; ++a)
                to.x[a][at * to.stride] = from.x[a][i * from.stride];
        __syncthreads();
    }
}

__global__ void permute(const float* from, float* to, int64_t stride, const uint32_t* place, int64_t begin,
                        int64_t end) {
    for (int64_t i = begin + int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < end;
         i += int64_t{gridDim.x} * blockDim.x)
        to[place[i] * stride] = from[i * stride];
}

void launched(backend::Queue& queue, const char* name) {
    backend::check(cudaGetLastError(), name);
    ++queue.launches;
}

template <int threads>
void launch_warp(backend::Queue& queue, const RehmannBlock* blocks, unsigned count, int64_t stride,
                 const float* cuts, uint32_t* out, int items) {
    const cudaStream_t stream = queue.stream();
    if (items <= 4)
        reduce_warp<threads, 4><<<count, threads, 0, stream>>>(blocks, stride, cuts, out);
    else if (items <= 8)
        reduce_warp<threads, 8><<<count, threads, 0, stream>>>(blocks, stride, cuts, out);
    else if (items <= 16)
        reduce_warp<threads, 16><<<count, threads, 0, stream>>>(blocks, stride, cuts, out);
    else
        reduce_warp<threads, 32><<<count, threads, 0, stream>>>(blocks, stride, cuts, out);
}

/// 128, 256 or 512 threads.
template <typename Body>
void with_threads(int threads, Body&& body) {
    if (threads <= 128)
        body(std::integral_constant<int, 128>());
    else if (threads <= 256)
        body(std::integral_constant<int, 256>());
    else
        body(std::integral_constant<int, 512>());
}

} // namespace

void rehmann_count_cell(backend::Queue& queue, const float* in, int64_t stride, int64_t n, float cut,
                        uint32_t* out, int threads, int items) {
    const auto blocks = static_cast<unsigned>(std::max<int64_t>(1, n / (int64_t{threads} * items)));
    with_threads(threads, [&](auto size) {
        reduce_cell<size.value><<<blocks, size.value, 0, queue.stream()>>>(in, stride, n, cut, out);
    });
    launched(queue, "launch of reduce_cell");
}

void rehmann_count_level(backend::Queue& queue, const RehmannBlock* blocks, int64_t count, int64_t stride,
                         const float* cuts, uint32_t* out, int threads) {
    with_threads(threads, [&](auto size) {
        reduce_level<size.value>
            <<<static_cast<unsigned>(count), size.value, 0, queue.stream()>>>(blocks, stride, cuts, out);
    });
    launched(queue, "launch of reduce_level");
}

void rehmann_count_warp(backend::Queue& queue, const RehmannBlock* blocks, int64_t count, int64_t stride,
                        const float* cuts, uint32_t* out, int threads, int items) {
    with_threads(threads, [&](auto size) {
        launch_warp<size.value>(queue, blocks, static_cast<unsigned>(count), stride, cuts, out, items);
    });
    launched(queue, "launch of reduce_warp");
}

void rehmann_read(backend::Queue& queue, const float* in, int64_t n, uint32_t* out) {
    const int64_t words = n / 4;
    read_words<<<static_cast<unsigned>((words + 2047) / 2048), 256, 0, queue.stream()>>>(
        reinterpret_cast<const uint4*>(in), words, out);
    launched(queue, "launch of read_words");
}

void rehmann_make_axis(backend::Queue& queue, const RehmannBlock* blocks, int64_t count, int64_t stride,
                       float* column, int threads) {
    copy_axis<<<static_cast<unsigned>(count), static_cast<unsigned>(threads), 0, queue.stream()>>>(
        blocks, stride, column);
    launched(queue, "launch of copy_axis");
}

void rehmann_partition(backend::Queue& queue, const RehmannBlock* blocks, int64_t count, const float* cuts,
                       const RehmannPoints& from, const RehmannPoints& to, uint32_t* place,
                       const uint32_t* cell_begin, const uint32_t* left_count, uint32_t* next, int threads) {
    with_threads(threads, [&](auto size) {
        partition_blocks<size.value><<<static_cast<unsigned>(count), size.value, 0, queue.stream()>>>(
            blocks, cuts, from, to, place, cell_begin, left_count, next);
    });
    launched(queue, "launch of partition_blocks");
}

void rehmann_permute(backend::Queue& queue, const float* from, float* to, int64_t stride,
                     const uint32_t* place, int64_t begin, int64_t end) {
    const auto blocks = static_cast<unsigned>(
        std::min<int64_t>(backend::blocks_for(end - begin, 1024), 16 * int64_t{queue.multiprocessors()}));
    permute<<<blocks, 256, 0, queue.stream()>>>(from, to, stride, place, begin, end);
    launched(queue, "launch of permute");
}

} // namespace graft::study
