// Which particles are looked at first when particles are sorted by buckets (device_buckets.cu); plain
// arithmetic, so that tests can choose particles that are unlucky.
#pragma once

#include "core/host_device.hpp"

#include <cstdint>

namespace graft::tree {

/// A block sorts at most 8 elements a thread; buckets have two and a half on the mean.
inline constexpr int bucket_threads = 256, most_in_bucket = 8 * bucket_threads;
/// Particles that are sorted so: beyond, radix sort is faster (impl/docs/gpu/tree.md).
inline constexpr int64_t most_in_buckets = int64_t{5} << 18;

/// Samples of the keys for each bucket: they part its range in as many.
inline constexpr int per_bucket = 8;

/// For n <= most_in_buckets particles; smaller ones where they would not fill the device.
constexpr int32_t bucket_count(int64_t n) {
    const int64_t mean = n < (int64_t{1} << 18) ? bucket_threads * 5 / 4 : bucket_threads * 5 / 2;
    return static_cast<int32_t>(n < 2 * mean ? 1 : n / mean);
}
constexpr int32_t sample_count(int64_t n) {
    return n < per_bucket ? 0 : bucket_count(n) * per_bucket;
}

/// The particle that sample s of `samples` is: any of the s-th of as many equal parts.
GRAFT_HD constexpr int64_t sampled_particle(int64_t s, int64_t samples, int64_t n) {
    const int64_t begin = s * n / samples, end = (s + 1) * n / samples;
    uint64_t h = static_cast<uint64_t>(s + 1) * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    return begin + static_cast<int64_t>((h >> 33) % static_cast<uint64_t>(end - begin));
}

} // namespace graft::tree
