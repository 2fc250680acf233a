// SPDX-License-Identifier: BSD-3-Clause
// Which particles are looked at first when particles are sorted by buckets (buckets_gpu.cu); plain
// arithmetic, so that tests can choose particles that are unlucky.
#pragma once

#include "core/host_device.hpp"

#include <cstdint>

namespace graft::tree {

/// A bucket is sorted by a block, of at most bucket_items particles a thread; small blocks where buckets have
/// fewer particles.
inline constexpr int bucket_items = 8, small_block = 256, large_block = 512;
/// Particles that are sorted so: beyond, radix sort is faster (docs/lab/gpu/tree.md).
inline constexpr int64_t most_in_buckets = int64_t{5} << 21;
/// Buckets at most: the keys where they begin are in shared memory.
inline constexpr int64_t most_buckets = 8192;
/// As many particles or more are put into buckets by passes of a radix sort, fewer by counting with atomics.
inline constexpr int64_t passes_from = int64_t{1} << 18;

/// Samples of the keys for each bucket: they part its range in as many.
inline constexpr int per_bucket = 8;

/// For n <= most_in_buckets particles; smaller ones where they would not fill the device.
constexpr int32_t bucket_count(int64_t n) {
    const int64_t mean = n < passes_from ? small_block * 5 / 4 : small_block * 5 / 2;
    const int64_t count = n < 2 * mean ? 1 : n / mean;
    return static_cast<int32_t>(count < most_buckets ? count : most_buckets);
}
constexpr int32_t sample_count(int64_t n) {
    return n < per_bucket ? 0 : bucket_count(n) * per_bucket;
}
/// Threads of the block that sorts a bucket.
constexpr int bucket_threads(int64_t n) {
    return bucket_count(n) < most_buckets ? small_block : large_block;
}

/// The particle that sample s of `samples` is: any of the s-th of as many equal parts.
GRAFT_HD constexpr int64_t sampled_particle(int64_t s, int64_t samples, int64_t n) {
    const int64_t begin = s * n / samples, end = (s + 1) * n / samples;
    uint64_t h = static_cast<uint64_t>(s + 1) * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    return begin + static_cast<int64_t>((h >> 33) % static_cast<uint64_t>(end - begin));
}

} // namespace graft::tree
