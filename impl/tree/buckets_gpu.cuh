// SPDX-License-Identifier: BSD-3-Clause
// What the files of the sort by buckets share: buckets_gpu.cu tells how it goes. Only for them.
#pragma once

#include "tree/buckets.hpp"
#include "tree/build_keys_gpu.cuh"

namespace graft::tree::buckets {

using geometry::KeyFrame;

inline constexpr int count_stride = 8; // counters in sectors of their own: atomics go on side by side
inline constexpr uint64_t last_key = ~uint64_t{0} >> 1;

struct alignas(16) Element {
    uint64_t key;
    int32_t index;
};

__device__ inline bool before(const Element& a, const Element& b) {
    return a.key < b.key || (a.key == b.key && a.index < b.index);
}

/// What the kernels share. A particle is sorted by its code, from the highest bits: its bucket, `levels`
/// bits; how far behind the bucket's first key its key is, in units that make that `fraction` bits; its
/// number.
struct Buckets {
    int32_t buckets, samples;
    int levels, fraction, number; // bits, 64 in all; levels of the tree of splits, too
    int64_t n;
    uint64_t* run_key; // of samples, run by run; and their particles' numbers
    int32_t* run_number;
    Element* ordered; // samples
    uint64_t* splits; // first keys of all buckets but the first as a search tree, level by level from [1] on
    int32_t *count, *offset; // particles of each bucket, count_stride apart; before it, buckets + 1
    uint64_t *code, *sorted; // of each particle; bucket by bucket
    int32_t* place;          // of each particle in its bucket

    /// Where in the tree the first key of bucket k > 0 stands.
    __device__ int32_t node(int32_t k) const {
        const int above = levels - __ffs(k); // the level: the lowest bit of k tells it
        return (1 << above) + (k >> (levels - above));
    }
    /// The bucket whose first key stands there, on this level.
    __device__ int32_t bucket_at(int32_t node, int level) const {
        return (2 * (node - (1 << level)) + 1) << (levels - 1 - level);
    }
    __device__ int32_t bucket_of(uint64_t code) const {
        return levels == 0 ? 0 : static_cast<int32_t>(code >> (fraction + number));
    }
    __device__ uint64_t fraction_of(uint64_t code) const {
        return code >> number & ((uint64_t{1} << fraction) - 1);
    }
    __device__ int32_t number_of(uint64_t code) const {
        return static_cast<int32_t>(code & ((uint64_t{1} << number) - 1));
    }
    /// Bits that keys of a bucket are shifted by, which begins at key `begin` and whose last key is `end`.
    __device__ int shift(uint64_t begin, uint64_t end) const {
        return max(64 - __clzll(static_cast<long long>(end - begin)) - fraction, 0);
    }
};

/// Where the sort's results go, and the particles they are of.
struct Result {
    DeviceParticleView from;
    const device::PackedParticle* packed;
    device::Sorted to;
    uint64_t* keys;
    int32_t* order;

    __device__ void store(int32_t at, int32_t i, const device::PackedParticle& p,
                          const KeyFrame& frame) const {
        keys[at] = frame.key(p.x, p.y, p.z);
        order[at] = i;
        to.x[at] = p.x, to.y[at] = p.y, to.z[at] = p.z;
        if (from.charge != nullptr)
            to.charge[at] = p.charge;
        if (from.softening != nullptr)
            to.softening[at] = from.softening[i];
    }
    __device__ Element element(int32_t i, const KeyFrame& frame) const {
        const device::PackedParticle p = packed[i];
        return {frame.key(p.x, p.y, p.z), i};
    }
};

/// Enqueues a kernel with so much shared memory.
template <typename... Parameters, typename... Arguments>
void launch(backend::Queue& queue, void (*kernel)(Parameters...), unsigned blocks, int threads, size_t shared,
            const Arguments&... arguments) {
    if (shared > size_t{48} << 10)
        GRAFT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(shared)));
    kernel<<<blocks, static_cast<unsigned>(threads), shared, queue.stream()>>>(arguments...);
    GRAFT_CUDA_LAUNCHED("a sort by buckets");
    ++queue.launches;
}

/// Enqueues: samples in order, where buckets begin, and no particles in any.
void order_samples(backend::Queue& queue, const DeviceParticleView& particles, const KeyFrame* frame,
                   const Buckets& b);

/// Enqueues: particles in the order of keys and numbers, from those of each bucket.
void sort_each(backend::Queue& queue, const Buckets& b, const KeyFrame* frame, const Result& result);

} // namespace graft::tree::buckets
