// SPDX-License-Identifier: BSD-3-Clause
// Keys, sort and gather by buckets, where a radix sort of keys and numbers takes eight passes.
//
// Some of the keys, per_bucket for each bucket, are put in order (buckets_samples_gpu.cu). Every per_bucket-th is
// where a bucket begins. A particle finds its bucket by a search in shared memory. Its code then goes to its
// bucket: 64 bits for the bucket, the highest bits of what its key is behind the bucket's first one, and its
// number. Few particles are counted by atomics, in any order; many are sorted by the bits of their bucket,
// which takes two passes over codes alone. A block puts each bucket in order in shared memory
// (buckets_sort_gpu.cu) and gathers its particles. No two particles have the same number, so the order is
// that of a stable sort by key, the same every run, and heaps of equal keys fill no bucket. Sizes of buckets
// spread as a gamma distribution of shape per_bucket, whatever the particles, so that one of more than a
// block holds is rare: it counts them in memory then. Bytes a particle: 32 + 40 (keys), 8 + 2 * 16 (passes),
// 8 + 32 + 44. Source: sample sort, after Leischner, Osipov & Sanders 2010, GPU sample sort.
#include "tree/buckets_gpu.cuh"

#include "backend/primitives_gpu.cuh"

#include <cub/block/block_scan.cuh>

#include <algorithm>
#include <bit>

namespace graft::tree {

namespace {

using namespace buckets;

constexpr int items = 4, fill_threads = 256, fill_items = 2; // particles of a thread

/// Bucket of each of a thread's particles i, i + threads ...: how many buckets begin before or at it.
template <int threads>
__device__ void find_buckets(const Buckets& b, const uint64_t* splits, const uint64_t (&key)[items],
                             int64_t i, int32_t (&found)[items]) {
#pragma unroll
    for (int r = 0; r < items; ++r)
        found[r] = 1;
    for (int level = 0; level < b.levels; ++level)
#pragma unroll
        for (int r = 0; r < items; ++r) {
            const uint64_t other = splits[found[r]];
            bool behind = other < key[r];
            if (other == key[r]) // seldom
                behind = b.ordered[b.bucket_at(found[r], level) * per_bucket].index <= i + r * threads;
            found[r] = 2 * found[r] + behind;
        }
#pragma unroll
    for (int r = 0; r < items; ++r)
        found[r] -= 1 << b.levels;
}

/// The code of particle i with this key; splits as in Buckets.
__device__ uint64_t make_code(const Buckets& b, const uint64_t* splits, uint64_t key, int32_t bucket,
                              int64_t i) {
    const uint64_t begin = bucket > 0 ? splits[b.node(bucket)] : 0;
    const uint64_t end = bucket + 1 < b.buckets ? splits[b.node(bucket + 1)] : last_key;
    const uint64_t behind = (key - begin) >> b.shift(begin, end);
    return ((static_cast<uint64_t>(bucket) << b.fraction | behind) << b.number) | static_cast<uint64_t>(i);
}

/// Code of each particle, and its place in its bucket (counted).
template <int threads, bool counted>
__global__ void __launch_bounds__(threads, 1024 / threads)
    key_particles(DeviceParticleView particles, int dimension, const KeyFrame* frame, const int32_t* tickets,
                  const DeviceTreeCounts* counts, const Buckets b, device::PackedParticle* packed,
                  backend::DeviceStatus* status) {
    extern __shared__ uint64_t splits[];
    const bool some_outside = tickets[device::outside_root] != 0;
    if (!some_outside && backend::stopped(status)) {
        if constexpr (!counted) // the sort that follows reads all codes the same
            for (int64_t k = int64_t{blockIdx.x} * threads + threadIdx.x; k < b.n; k += gridDim.x * threads)
                b.code[k] = 0;
        return;
    }
    for (int32_t k = 1 + static_cast<int32_t>(threadIdx.x); k < 1 << b.levels; k += threads)
        splits[k] = b.splits[k];
    __syncthreads();
    constexpr int64_t tile = threads * items;
    for (int64_t begin = blockIdx.x * tile; begin < b.n; begin += gridDim.x * tile) {
        const int64_t i = begin + threadIdx.x;
        uint64_t key[items] = {};
#pragma unroll
        for (int r = 0; r < items; ++r) {
            const int64_t k = i + r * threads;
            if (k >= b.n)
                continue;
            const device::PackedParticle p = device::load(particles, k);
            packed[k] = p;
            key[r] = frame->key(p.x, p.y, p.z);
            if (some_outside)
                device::refuse_outside(p, k, dimension, *counts, status);
        }
        int32_t bucket[items], place[items];
        find_buckets<threads>(b, splits, key, i, bucket);
#pragma unroll
        for (int r = 0; r < items; ++r)
            if (counted && i + r * threads < b.n)
                place[r] = atomicAdd(b.count + bucket[r] * count_stride, 1);
#pragma unroll
        for (int r = 0; r < items; ++r)
            if (i + r * threads < b.n) {
                b.code[i + r * threads] = make_code(b, splits, key[r], bucket[r], i + r * threads);
                if (counted)
                    b.place[i + r * threads] = place[r];
            }
    }
}

/// Particles before each bucket, by one block.
constexpr int sum_threads = 1024;
__global__ void __launch_bounds__(sum_threads)
    sum_buckets(const Buckets b, const backend::DeviceStatus* status) {
    using Scan = cub::BlockScan<int32_t, sum_threads>;
    __shared__ typename Scan::TempStorage storage;
    if (backend::stopped(status))
        return;
    int32_t before_all = 0;
    for (int32_t begin = 0; begin <= b.buckets; begin += sum_threads) {
        const int32_t k = begin + static_cast<int32_t>(threadIdx.x);
        int32_t sum = k < b.buckets ? b.count[k * count_stride] : 0, all;
        Scan(storage).ExclusiveSum(sum, sum, all);
        if (k <= b.buckets)
            b.offset[k] = before_all + sum;
        before_all += all;
        __syncthreads();
    }
}

/// The same where codes are in order: a warp a bucket, 32 looks at a time.
__global__ void __launch_bounds__(256) find_offsets(const Buckets b) {
    const int32_t k = static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int32_t lane = static_cast<int32_t>(threadIdx.x) % 32;
    if (k > b.buckets)
        return;
    int64_t begin = k < b.buckets ? 0 : b.n, end = k > 0 ? b.n : 0;
    while (begin < end) {
        const int64_t part = (end - begin + 31) / 32, last = begin + (lane + 1) * part - 1;
        const int below = __popc(__ballot_sync(~0u, last < end && b.bucket_of(b.sorted[last]) < k));
        begin = begin + below * part;
        end = begin + part - 1 < end ? begin + part - 1 : end;
    }
    if (lane == 0)
        b.offset[k] = static_cast<int32_t>(end);
}

/// Codes to their buckets.
__global__ void __launch_bounds__(fill_threads)
    fill_buckets(const Buckets b, const backend::DeviceStatus* status) {
    const int64_t begin = int64_t{blockIdx.x} * (fill_threads * fill_items) + threadIdx.x;
    if (backend::stopped(status))
        return;
#pragma unroll
    for (int r = 0; r < fill_items; ++r) {
        const int64_t i = begin + r * fill_threads;
        if (i < b.n)
            b.sorted[b.offset[b.bucket_of(b.code[i])] + b.place[i]] = b.code[i];
    }
}

/// Parts of one piece of memory.
class Parts {
  public:
    explicit Parts(char* memory) : memory_(memory) {}
    template <typename T>
    T* take(int64_t count) {
        T* const part = reinterpret_cast<T*>(memory_ + bytes_);
        bytes_ += (count * int64_t{sizeof(T)} + 255) / 256 * 256;
        return part;
    }
    int64_t bytes() const { return bytes_; }

  private:
    char* memory_;
    int64_t bytes_ = 0;
};

/// Without memory: how many bytes it takes, to `bytes`. What there is for each particle is in arrays that are
/// written last.
Buckets make_buckets(int64_t n, char* memory, int64_t& bytes) {
    Buckets b{};
    b.n = n, b.buckets = bucket_count(n), b.samples = sample_count(n);
    b.levels = std::bit_width(static_cast<uint32_t>(b.buckets - 1));
    b.number = std::max(static_cast<int>(std::bit_width(static_cast<uint64_t>(n - 1))), 1);
    b.fraction = 64 - b.levels - b.number;
    Parts parts(memory);
    b.run_key = parts.take<uint64_t>(b.samples);
    b.run_number = parts.take<int32_t>(b.samples);
    b.ordered = parts.take<Element>(b.samples);
    b.splits = parts.take<uint64_t>(int64_t{1} << b.levels);
    b.count = parts.take<int32_t>(int64_t{b.buckets} * count_stride);
    b.offset = parts.take<int32_t>(b.buckets + 1);
    bytes = parts.bytes();
    return b;
}

} // namespace

bool DeviceTreeBuilder::Work::fits_in_buckets(int64_t n) {
    return n <= most_in_buckets;
}

void DeviceTreeBuilder::Work::sort_in_buckets(backend::Queue& queue, const DeviceParticleView& particles,
                                              DeviceTree& tree) {
    const int64_t n = particles.n;
    int64_t bytes = 0;
    make_buckets(n, nullptr, bytes);
    bucket_parts.resize(bytes);
    Buckets b = make_buckets(n, bucket_parts.data(), bytes);
    b.code = tree.keys.data(), b.sorted = keys.data(), b.place = tree.order.data();
    order_samples(queue, particles, frame.data(), b);
    const bool counted = n < passes_from;
    const int key_threads = counted ? small_block : large_block;
    const unsigned blocks = std::min(backend::blocks_for(n, int64_t{items} * key_threads),
                                     static_cast<unsigned>((counted ? 16 : 2) * queue.multiprocessors()));
    launch(queue, counted ? key_particles<small_block, true> : key_particles<large_block, false>, blocks,
           key_threads, sizeof(uint64_t) << b.levels, particles, tree.options.dimension, frame.data(),
           tickets.data(), tree.counts.data(), b, packed.data(), queue.status());
    if (counted) {
        launch(queue, sum_buckets, 1, sum_threads, 0, b, queue.status());
        launch(queue, fill_buckets, backend::blocks_for(n, fill_threads * fill_items), fill_threads, 0, b,
               queue.status());
    } else {
        backend::sort_keys(queue, b.code, b.sorted, n, 64 - b.levels, 64);
        launch(queue, find_offsets, backend::blocks_for(int64_t{32} * (b.buckets + 1), 256), 256, 0, b);
    }
    const Result result{particles, packed.data(), device::Sorted(tree), tree.keys.data(), tree.order.data()};
    sort_each(queue, b, frame.data(), result);
}

} // namespace graft::tree
