// SPDX-License-Identifier: BSD-3-Clause
// Where the buckets of the sort begin (buckets_gpu.cu): samples of the keys in order, runs of them by a
// block each, then the place of each among all runs by searches.
#include "tree/buckets_gpu.cuh"

#include <algorithm>

namespace graft::tree::buckets {

namespace {

constexpr int short_run = 512, long_run = 1024; // samples that one block puts in order
constexpr int choose_warps = 8;                 // that share the runs

/// How many of the keys, in order, are below `key`.
template <int most>
__device__ int32_t count_below(const uint64_t* keys, int32_t count, uint64_t key) {
    int32_t found = 0;
#pragma unroll
    for (int32_t step = most / 2; step > 0; step /= 2)
        found += found + step <= count && keys[found + step - 1] < key ? step : 0;
    return found + (found < count && keys[found] < key);
}

/// Runs of samples in order, a block each: those of each warp, then all warps' by searches, neighbours by
/// neighbouring lanes, which so look at the same places. Samples have ascending numbers, so that of equal
/// keys the first one's comes first. And no particles in the buckets yet.
template <int run>
__global__ void __launch_bounds__(run) sort_samples(DeviceParticleView particles, const KeyFrame* frame,
                                                    const Buckets b, const backend::DeviceStatus* status) {
    __shared__ uint64_t keys[run];
    __shared__ int32_t numbers[run];
    const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
    const int32_t begin = static_cast<int32_t>(blockIdx.x) * run, s = begin + thread;
    const int32_t stride = static_cast<int32_t>(gridDim.x) * run;
    for (int32_t k = s; k < b.buckets; k += stride)
        b.count[k * count_stride] = 0;
    for (int32_t k = b.buckets + s; k < 1 << b.levels; k += stride)
        b.splits[b.node(k)] = ~uint64_t{0}; // behind all keys
    if (backend::stopped(status))
        return;
    Element own{~uint64_t{0} - 1, 0}; // behind all keys
    if (s < b.samples) {
        const int64_t i = sampled_particle(s, b.samples, b.n);
        const device::PackedParticle p = device::load(particles, i);
        own = {frame->key(p.x, p.y, p.z), static_cast<int32_t>(i)};
    }
    int32_t place = 0;
#pragma unroll 8
    for (int k = 0; k < 32; ++k)
        place += __shfl_sync(~0u, own.key, k) < own.key + (k < lane);
    keys[warp * 32 + place] = own.key, numbers[warp * 32 + place] = own.index;
    __syncthreads();
    const uint64_t key = keys[thread];
    place = lane;
#pragma unroll 4
    for (int w = 0; w < run / 32; ++w)
        place += w != warp ? count_below<32>(keys + w * 32, 32, key + (w < warp)) : 0;
    if (begin + place < b.samples)
        b.run_key[begin + place] = key, b.run_number[begin + place] = numbers[thread];
}

/// All samples in order: 32 of them a block, whose warps share the runs.
template <int run>
__global__ void __launch_bounds__(32 * choose_warps)
    order_runs(const Buckets b, const backend::DeviceStatus* status) {
    __shared__ int32_t place[32];
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int32_t s = static_cast<int32_t>(blockIdx.x) * 32 + lane, own_run = s / run;
    const int32_t runs = (b.samples + run - 1) / run;
    if (backend::stopped(status))
        return;
    if (warp == 0)
        place[lane] = s % run;
    __syncthreads();
    uint64_t key = 0;
    if (s < b.samples) {
        key = b.run_key[s];
        int32_t found = 0;
#pragma unroll 4
        for (int32_t r = warp; r < runs; r += choose_warps)
            if (r != own_run)
                found +=
                    count_below<run>(b.run_key + r * run, min(run, b.samples - r * run), key + (r < own_run));
        atomicAdd(place + lane, found);
    }
    __syncthreads();
    if (warp != 0 || s >= b.samples)
        return;
    const int32_t at = place[lane];
    b.ordered[at] = {key, b.run_number[s]};
    if (at > 0 && at % per_bucket == 0)
        b.splits[b.node(at / per_bucket)] = key;
}

} // namespace

void order_samples(backend::Queue& queue, const DeviceParticleView& particles, const KeyFrame* frame,
                   const Buckets& b) {
    const bool many = b.samples > 32 * long_run;
    const int run = many ? long_run : short_run;
    launch(queue, many ? sort_samples<long_run> : sort_samples<short_run>,
           backend::blocks_for(std::max(b.samples, 1), run), run, 0, particles, frame, b, queue.status());
    launch(queue, many ? order_runs<long_run> : order_runs<short_run>, backend::blocks_for(b.samples, 32),
           32 * choose_warps, 0, b, queue.status());
}

} // namespace graft::tree::buckets
