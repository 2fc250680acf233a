// Keys, sort and gather by buckets, in six launches instead of a radix sort's eight passes over keys and
// order (of two or three launches each).
//
// Some of the keys, per_bucket for each bucket, are put in order: runs of them by a block each, then the
// place of each among all runs by searches. Every per_bucket-th is where a bucket begins. A particle finds
// its bucket by a search in shared memory, and its place there by counting (atomics: in any order). A block
// sorts each bucket in shared memory, by key and number: into bins of equal width between two samples, less
// than one particle each on the mean, then by counting the smaller ones of its bin; and it gathers the
// particles. No two particles have the same number, so the order is that of a stable sort by key, the same
// every run, and heaps of equal keys fill no bucket. Sizes of buckets spread as a gamma distribution of shape
// per_bucket, whatever the particles, so that one of more than a block holds is rare: it counts them in
// memory then. Bytes a particle: 32 + 46 (keys, packed particle, bucket, place), 14 + 16, 2 * 16 + 32 + 44;
// floors at 1e6: 18, 7 and 25 us. Source: sample sort, after Leischner, Osipov & Sanders 2010, GPU sample
// sort.
#include "tree/device_buckets.hpp"
#include "tree/device_keys.cuh"

#include <cub/block/block_scan.cuh>

#include <algorithm>
#include <bit>
#include <limits>

namespace graft::tree {

namespace {

using geometry::KeyFrame;

constexpr int run = 512;                                    // samples that one block puts in order
constexpr int choose_warps = 8;                             // that share the runs
constexpr int key_threads = 256, items = 4, fill_items = 2; // particles of a thread
constexpr int count_stride = 8; // counters in sectors of their own: atomics go on side by side
constexpr uint64_t last_key = ~uint64_t{0} >> 1;

struct alignas(16) Element {
    uint64_t key;
    int32_t index;
};

__device__ bool before(const Element& a, const Element& b) {
    return a.key < b.key || (a.key == b.key && a.index < b.index);
}

/// What the kernels share, in the queue's scratch.
struct Buckets {
    int32_t buckets, samples, runs;
    int64_t n;
    Element *sample, *ordered; // runs of samples; all in order
    int32_t *count, *offset;   // particles of each bucket, count_stride apart; before it, buckets + 1
    uint16_t* bucket;          // of each particle
    int32_t* place;            // in it
    Element* element;          // bucket by bucket
};

/// How many of the elements, in order, have keys below `key`.
template <int most>
__device__ int32_t count_below(const Element* elements, int32_t count, uint64_t key) {
    int32_t found = 0;
#pragma unroll
    for (int32_t step = most / 2; step > 0; step /= 2)
        found += found + step <= count && elements[found + step - 1].key < key ? step : 0;
    return found + (found < count && elements[found].key < key);
}

/// Runs of samples in order, a block each: those of each warp, then all warps' by searches. Samples have
/// ascending numbers, so that of equal keys the first one's comes first. And no particles in the buckets yet.
__global__ void __launch_bounds__(run) sort_samples(DeviceParticleView particles, const KeyFrame* frame,
                                                    const Buckets b, const backend::DeviceStatus* status) {
    __shared__ Element all[run];
    const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
    const int32_t s = static_cast<int32_t>(blockIdx.x) * run + thread;
    for (int32_t k = s; k < b.buckets; k += static_cast<int32_t>(gridDim.x) * run)
        b.count[k * count_stride] = 0;
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
    all[warp * 32 + place] = own;
    __syncthreads();
#pragma unroll 4
    for (int w = 0; w < run / 32; ++w)
        place += w != warp ? count_below<32>(all + w * 32, 32, own.key + (w < warp)) : 0;
    if (s < b.samples)
        b.sample[static_cast<int32_t>(blockIdx.x) * run + place] = own;
}

/// All samples in order: 32 of them a block, whose warps share the runs.
__global__ void __launch_bounds__(32 * choose_warps)
    order_samples(const Buckets b, const backend::DeviceStatus* status) {
    __shared__ int32_t place[32];
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int32_t s = static_cast<int32_t>(blockIdx.x) * 32 + lane, own_run = s / run;
    if (backend::stopped(status))
        return;
    if (warp == 0)
        place[lane] = s % run;
    __syncthreads();
    Element own{};
    if (s < b.samples) {
        own = b.sample[s];
        int32_t found = 0;
#pragma unroll 2
        for (int32_t r = warp; r < b.runs; r += choose_warps)
            if (r != own_run)
                found += count_below<run>(b.sample + r * run, min(run, b.samples - r * run),
                                          own.key + (r < own_run));
        atomicAdd(place + lane, found);
    }
    __syncthreads();
    if (warp == 0 && s < b.samples)
        b.ordered[place[lane]] = own;
}

/// Bucket of each of a thread's particles i, i + key_threads ...: how many buckets begin before or at it.
__device__ void find_buckets(const Buckets& b, const uint64_t* first, const uint64_t (&key)[items], int64_t i,
                             int32_t (&found)[items]) {
    const int32_t firsts = b.buckets - 1;
#pragma unroll
    for (int r = 0; r < items; ++r)
        found[r] = 0;
    for (int32_t step = firsts > 0 ? 1 << (31 - __clz(firsts)) : 0; step > 0; step /= 2)
#pragma unroll
        for (int r = 0; r < items; ++r) {
            const int32_t at = found[r] + step;
            const uint64_t other = at <= firsts ? first[at - 1] : ~uint64_t{0};
            bool behind = other < key[r];
            if (other == key[r]) // seldom
                behind = b.ordered[at * per_bucket].index <= i + r * key_threads;
            found[r] = behind ? at : found[r];
        }
}

__global__ void __launch_bounds__(key_threads, 4)
    key_particles(DeviceParticleView particles, int dimension, const KeyFrame* frame, const int32_t* tickets,
                  const DeviceTreeCounts* counts, const Buckets b, uint64_t* keys,
                  device::PackedParticle* packed, backend::DeviceStatus* status) {
    extern __shared__ uint64_t first[]; // keys of all buckets but the first
    const bool some_outside = tickets[device::outside_root] != 0;
    if (!some_outside && backend::stopped(status))
        return;
    for (int32_t k = static_cast<int32_t>(threadIdx.x); k < b.buckets - 1; k += key_threads)
        first[k] = b.ordered[(k + 1) * per_bucket].key;
    __syncthreads();
    constexpr int64_t tile = key_threads * items;
    for (int64_t begin = blockIdx.x * tile; begin < b.n; begin += gridDim.x * tile) {
        const int64_t i = begin + threadIdx.x;
        uint64_t key[items] = {};
#pragma unroll
        for (int r = 0; r < items; ++r) {
            const int64_t k = i + r * key_threads;
            if (k >= b.n)
                continue;
            const device::PackedParticle p = device::load(particles, k);
            packed[k] = p;
            keys[k] = key[r] = frame->key(p.x, p.y, p.z);
            if (some_outside)
                device::refuse_outside(p, k, dimension, *counts, status);
        }
        int32_t bucket[items], place[items];
        find_buckets(b, first, key, i, bucket);
#pragma unroll
        for (int r = 0; r < items; ++r)
            if (i + r * key_threads < b.n)
                place[r] = atomicAdd(b.count + bucket[r] * count_stride, 1);
#pragma unroll
        for (int r = 0; r < items; ++r)
            if (i + r * key_threads < b.n) {
                b.bucket[i + r * key_threads] = static_cast<uint16_t>(bucket[r]);
                b.place[i + r * key_threads] = place[r];
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

/// Keys and numbers to their buckets.
__global__ void __launch_bounds__(key_threads)
    fill_buckets(const Buckets b, const uint64_t* keys, const backend::DeviceStatus* status) {
    const int64_t begin = int64_t{blockIdx.x} * (key_threads * fill_items) + threadIdx.x;
    if (backend::stopped(status))
        return;
    int32_t at[fill_items];
    uint64_t key[fill_items];
#pragma unroll
    for (int r = 0; r < fill_items; ++r) {
        const int64_t i = begin + r * key_threads;
        if (i < b.n)
            at[r] = b.offset[b.bucket[i]] + b.place[i], key[r] = keys[i];
    }
#pragma unroll
    for (int r = 0; r < fill_items; ++r)
        if (begin + r * key_threads < b.n)
            b.element[at[r]] = {key[r], static_cast<int32_t>(begin) + r * key_threads};
}

/// Where the sort's results go, and the particles they are of.
struct Result {
    DeviceParticleView from;
    const device::PackedParticle* packed;
    device::Sorted to;
    uint64_t* keys;
    int32_t* order;

    __device__ void store(int32_t at, const Element& element) const {
        const int32_t i = element.index;
        const device::PackedParticle p = packed[i];
        keys[at] = element.key;
        order[at] = i;
        to.x[at] = p.x, to.y[at] = p.y, to.z[at] = p.z;
        if (from.charge != nullptr)
            to.charge[at] = p.charge;
        if (from.softening != nullptr)
            to.softening[at] = from.softening[i];
    }
};

/// A bucket of any size, by counting the elements before each.
__device__ void count_bucket(const Element* elements, int32_t begin, int32_t end, const Result& result) {
    for (int32_t k = begin + static_cast<int32_t>(threadIdx.x); k < end;
         k += static_cast<int32_t>(blockDim.x)) {
        const Element own = elements[k];
        int32_t at = begin;
        for (int32_t j = begin; j < end; ++j)
            at += before(elements[j], own);
        result.store(at, own);
    }
}

struct Bins {
    static constexpr int threads = bucket_threads, most = most_in_bucket;
    static constexpr int per_thread = 4, count = per_thread * threads;
    static constexpr int width = std::bit_width(static_cast<uint32_t>(count / per_bucket)) - 1; // bits
    using Scan = cub::BlockScan<int32_t, threads>;
    uint64_t key[most], first[per_bucket];
    int32_t index[most], end[count], shift[per_bucket];
    uint16_t bin[most];
    typename Scan::TempStorage scan;

    /// Thread k < per_bucket: where the k-th part of this block's bucket begins, and how wide its bins are.
    __device__ void part(const Buckets& b, int k) {
        const int32_t sample = static_cast<int32_t>(blockIdx.x) * per_bucket + k;
        const bool there = k == 0 || sample < b.samples;
        const uint64_t begin = sample == 0 ? 0 : (there ? b.ordered[sample].key : last_key);
        const uint64_t next = sample + 1 < b.samples ? b.ordered[sample + 1].key : last_key;
        const int bits = 64 - __clzll(static_cast<long long>(next - begin));
        first[k] = there ? begin : ~uint64_t{0};
        shift[k] = max(bits - width, 0);
    }
    __device__ int bin_of(uint64_t value) const {
        int k = 0;
#pragma unroll
        for (int j = 1; j < per_bucket; ++j)
            k += first[j] <= value;
        return (k << width) + static_cast<int>((value - first[k]) >> shift[k]);
    }
};

__global__ void __launch_bounds__(bucket_threads)
    sort_buckets(const Buckets b, const Result result, const backend::DeviceStatus* status) {
    __shared__ Bins bins;
    constexpr int threads = Bins::threads;
    if (backend::stopped(status))
        return;
    const int thread = static_cast<int>(threadIdx.x);
    const int32_t begin = b.offset[blockIdx.x], end = b.offset[blockIdx.x + 1];
    if (end - begin > Bins::most)
        return count_bucket(b.element, begin, end, result);
    int32_t own[Bins::per_thread] = {};
    if (thread < per_bucket)
        bins.part(b, thread);
    for (int k = thread; k < Bins::count; k += threads)
        bins.end[k] = 0;
    __syncthreads();
    for (int32_t k = begin + thread; k < end; k += threads)
        atomicAdd(bins.end + bins.bin_of(b.element[k].key), 1);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < Bins::per_thread; ++r)
        own[r] = bins.end[thread * Bins::per_thread + r];
    Bins::Scan(bins.scan).ExclusiveSum(own, own);
#pragma unroll
    for (int r = 0; r < Bins::per_thread; ++r)
        bins.end[thread * Bins::per_thread + r] = own[r];
    __syncthreads();
    for (int32_t k = begin + thread; k < end; k += threads) {
        const Element element = b.element[k];
        const int bin = bins.bin_of(element.key);
        const int32_t at = atomicAdd(bins.end + bin, 1); // begins of bins become their ends
        bins.key[at] = element.key, bins.index[at] = element.index;
        bins.bin[at] = static_cast<uint16_t>(bin);
    }
    __syncthreads();
    for (int32_t k = thread; k < end - begin; k += threads) {
        const Element element{bins.key[k], bins.index[k]};
        const int bin = bins.bin[k];
        int32_t at = bin > 0 ? bins.end[bin - 1] : 0;
        for (int32_t j = at, last = bins.end[bin]; j < last; ++j)
            at += before({bins.key[j], bins.index[j]}, element);
        result.store(begin + at, element);
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

/// Without memory: how many bytes it takes, to `bytes`.
Buckets make_buckets(int64_t n, char* memory, int32_t* place, int64_t& bytes) {
    Buckets b{};
    b.n = n, b.buckets = bucket_count(n), b.samples = sample_count(n);
    b.runs = (b.samples + run - 1) / run;
    Parts parts(memory);
    b.sample = parts.take<Element>(b.samples);
    b.ordered = parts.take<Element>(b.samples);
    b.count = parts.take<int32_t>(int64_t{b.buckets} * count_stride);
    b.offset = parts.take<int32_t>(b.buckets + 1);
    b.bucket = parts.take<uint16_t>(n);
    b.element = parts.take<Element>(n);
    b.place = place;
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
    make_buckets(n, nullptr, nullptr, bytes);
    const Buckets b = make_buckets(n, static_cast<char*>(queue.scratch(bytes)), index.data(), bytes);
    const cudaStream_t stream = queue.stream();
    sort_samples<<<static_cast<unsigned>(std::max(b.runs, 1)), run, 0, stream>>>(particles, frame.data(), b,
                                                                                 queue.status());
    GRAFT_CUDA_LAUNCHED("sort_samples");
    order_samples<<<backend::blocks_for(b.samples, 32), 32 * choose_warps, 0, stream>>>(b, queue.status());
    GRAFT_CUDA_LAUNCHED("order_samples");
    const unsigned blocks = std::min(backend::blocks_for(n, key_threads * items),
                                     static_cast<unsigned>(16 * queue.multiprocessors()));
    key_particles<<<blocks, key_threads, sizeof(uint64_t) * static_cast<size_t>(b.buckets), stream>>>(
        particles, tree.options.dimension, frame.data(), tickets.data(), tree.counts.data(), b, keys.data(),
        packed.data(), queue.status());
    GRAFT_CUDA_LAUNCHED("key_particles");
    sum_buckets<<<1, sum_threads, 0, stream>>>(b, queue.status());
    GRAFT_CUDA_LAUNCHED("sum_buckets");
    fill_buckets<<<backend::blocks_for(n, key_threads * fill_items), key_threads, 0, stream>>>(
        b, keys.data(), queue.status());
    GRAFT_CUDA_LAUNCHED("fill_buckets");
    const Result result{particles, packed.data(), device::Sorted(tree), tree.keys.data(), tree.order.data()};
    sort_buckets<<<static_cast<unsigned>(b.buckets), bucket_threads, 0, stream>>>(b, result, queue.status());
    GRAFT_CUDA_LAUNCHED("sort_buckets");
    queue.launches += 6;
}

} // namespace graft::tree
