// SPDX-License-Identifier: BSD-3-Clause
// Each bucket of the sort (buckets_gpu.cu) by a block: its codes into bins of equal width between two
// samples, about one particle each on the mean, then to their places by counting the smaller ones of their
// bin; where codes cannot tell the order, the keys themselves; then the gather, of each particle once. Bytes
// a particle: 8, 32 (64 where they come from memory, which reads as much at least) and 44; floors 20 us at
// 1e6, 220 at 8e6.
#include "tree/buckets_gpu.cuh"

#include <cub/block/block_scan.cuh>

#include <bit>

namespace graft::tree::buckets {

namespace {

constexpr int gather_items = 2; // particles of a thread on their way together

/// A bucket of any size, by counting the elements before each. Seldom: the samples tell how large it is.
__device__ void count_bucket(const Buckets& b, const uint64_t* sorted, int32_t size, int32_t begin,
                             const KeyFrame& frame, const Result& result) {
    for (int32_t k = static_cast<int32_t>(threadIdx.x); k < size; k += static_cast<int32_t>(blockDim.x)) {
        const Element own = result.element(b.number_of(sorted[k]), frame);
        int32_t at = begin;
        for (int32_t j = 0; j < size; ++j)
            at += before(result.element(b.number_of(sorted[j]), frame), own);
        result.store(at, own.index, result.packed[own.index], frame);
    }
}

/// Codes of a bucket that each thread of the block holds, thread + r * threads < size, to their places.
__device__ __forceinline__ void place_codes(uint64_t* code, const uint64_t (&own)[bucket_items],
                                            const int32_t (&at)[bucket_items], int32_t size,
                                            int32_t threads) {
#pragma unroll
    for (int r = 0; r < bucket_items; ++r)
        if (static_cast<int32_t>(threadIdx.x) + r * threads < size)
            code[at[r]] = own[r];
    __syncthreads();
}

template <int threads>
struct Bins {
    static constexpr int most = bucket_items * threads, per_thread = 4, count = per_thread * threads;
    static constexpr int width = std::bit_width(static_cast<uint32_t>(count / per_bucket)) - 1; // bits
    using Scan = cub::BlockScan<int32_t, threads>;
    uint64_t code[most], first[per_bucket]; // fractions
    int32_t begin[count + 1], shift[per_bucket];
    bool exact; // fractions tell all of the keys
    typename Scan::TempStorage scan;

    /// Thread k < per_bucket: where the k-th part of this block's bucket begins, and how wide its bins are.
    __device__ void part(const Buckets& b, int k) {
        const int32_t sample = static_cast<int32_t>(blockIdx.x) * per_bucket;
        const auto key = [&](int32_t s) {
            return s == 0 ? 0 : (s < b.samples ? b.ordered[s].key : last_key);
        };
        const int of_bucket = b.shift(key(sample), key(sample + per_bucket));
        const uint64_t begin = (key(sample + k) - key(sample)) >> of_bucket;
        const uint64_t next = (key(sample + k + 1) - key(sample)) >> of_bucket;
        first[k] = k == 0 || sample + k < b.samples ? begin : ~uint64_t{0};
        shift[k] = max(64 - __clzll(static_cast<long long>(next - begin)) - width, 0);
        if (k == 0)
            exact = of_bucket == 0;
    }
    __device__ int bin_of(uint64_t fraction) const {
        int k = 0;
#pragma unroll
        for (int j = 1; j < per_bucket; ++j)
            k += first[j] <= fraction;
        return (k << width) + static_cast<int>((fraction - first[k]) >> shift[k]);
    }
    /// Bins' sizes become their begins.
    __device__ void sum() {
        int32_t own[per_thread];
#pragma unroll
        for (int r = 0; r < per_thread; ++r)
            own[r] = begin[threadIdx.x * per_thread + r];
        Scan(scan).ExclusiveSum(own, own);
#pragma unroll
        for (int r = 0; r < per_thread; ++r)
            begin[threadIdx.x * per_thread + r] = own[r];
        __syncthreads();
    }
    /// The codes of this block's bucket in order. Its parts are known, no bin has particles yet.
    __device__ void sort(const Buckets& b, const uint64_t* sorted, int32_t size) {
        const int thread = static_cast<int>(threadIdx.x);
        uint64_t own[bucket_items];
        int32_t at[bucket_items]; // place in its bin, and the bin behind it; then place
        constexpr int place_bits = 16;
        static_assert(most < 1 << place_bits && count <= 1 << (31 - place_bits));
#pragma unroll
        for (int r = 0; r < bucket_items; ++r)
            own[r] = thread + r * threads < size ? sorted[thread + r * threads] : 0;
        __syncthreads();
#pragma unroll
        for (int r = 0; r < bucket_items; ++r)
            if (thread + r * threads < size) {
                const int bin = bin_of(b.fraction_of(own[r]));
                at[r] = bin << place_bits | atomicAdd(begin + bin, 1);
            }
        __syncthreads();
        sum();
#pragma unroll
        for (int r = 0; r < bucket_items; ++r)
            if (thread + r * threads < size)
                code[begin[at[r] >> place_bits] + (at[r] & ((1 << place_bits) - 1))] = own[r];
        __syncthreads();
#pragma unroll
        for (int r = 0; r < bucket_items; ++r)
            if (thread + r * threads < size) {
                const int bin = at[r] >> place_bits;
                at[r] = begin[bin];
                for (int32_t j = at[r], last = begin[bin + 1]; j < last; ++j)
                    at[r] += code[j] < own[r];
            }
        __syncthreads();
        place_codes(code, own, at, size, threads);
    }
};

/// Codes in order tell the order of keys but where fractions are equal: there, keys are made and compared.
/// They are left in `keys` meanwhile.
__device__ void order_equal(const Buckets& b, uint64_t* code, int32_t size, uint64_t* keys,
                            const Result& result, const KeyFrame& frame) {
    const auto threads = static_cast<int32_t>(blockDim.x), thread = static_cast<int32_t>(threadIdx.x);
    const auto equal = [&](int32_t k, int32_t j) {
        return j >= 0 && j < size && b.fraction_of(code[j]) == b.fraction_of(code[k]);
    };
    bool any = false;
    for (int32_t k = thread; k + 1 < size; k += threads)
        any = any || equal(k, k + 1);
    if (!__syncthreads_or(any))
        return;
    uint64_t own[bucket_items];
    int32_t at[bucket_items];
    for (int32_t k = thread; k < size; k += threads)
        if (equal(k, k - 1) || equal(k, k + 1))
            keys[k] = result.element(b.number_of(code[k]), frame).key;
    __syncthreads();
#pragma unroll
    for (int r = 0; r < bucket_items; ++r) {
        const int32_t k = thread + r * threads;
        if (k >= size)
            continue;
        own[r] = code[k], at[r] = k;
        for (int32_t j = k - 1; equal(k, j); --j)
            at[r] -= keys[j] > keys[k];
        for (int32_t j = k + 1; equal(k, j); ++j)
            at[r] += keys[j] < keys[k];
    }
    __syncthreads();
    place_codes(code, own, at, size, threads);
}

/// A block a bucket: its codes in order, then its particles.
template <int threads>
__global__ void __launch_bounds__(threads, 1536 / threads)
    sort_bucket(const Buckets b, const KeyFrame* frame, const Result result,
                const backend::DeviceStatus* status) {
    __shared__ Bins<threads> bins;
    constexpr int count = Bins<threads>::count;
    if (backend::stopped(status))
        return;
    const int thread = static_cast<int>(threadIdx.x);
    const int32_t begin = b.offset[blockIdx.x], size = b.offset[blockIdx.x + 1] - begin;
    if (size > Bins<threads>::most)
        return count_bucket(b, b.sorted + begin, size, begin, *frame, result);
    if (thread < per_bucket)
        bins.part(b, thread);
    for (int k = thread; k <= count; k += threads)
        bins.begin[k] = k < count ? 0 : size;
    bins.sort(b, b.sorted + begin, size);
    if (!bins.exact)
        order_equal(b, bins.code, size, result.keys + begin, result, *frame);
    for (int32_t k = thread; k < size; k += gather_items * threads) {
        device::PackedParticle p[gather_items];
        int32_t i[gather_items];
#pragma unroll
        for (int r = 0; r < gather_items; ++r)
            if (k + r * threads < size)
                p[r] = result.packed[i[r] = b.number_of(bins.code[k + r * threads])];
#pragma unroll
        for (int r = 0; r < gather_items; ++r)
            if (k + r * threads < size)
                result.store(begin + k + r * threads, i[r], p[r], *frame);
    }
}

} // namespace

void sort_each(backend::Queue& queue, const Buckets& b, const KeyFrame* frame, const Result& result) {
    const bool small = bucket_threads(b.n) == small_block;
    launch(queue, small ? sort_bucket<small_block> : sort_bucket<large_block>,
           static_cast<unsigned>(b.buckets), bucket_threads(b.n), 0, b, frame, result, queue.status());
}

} // namespace graft::tree::buckets
