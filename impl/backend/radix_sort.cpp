// SPDX-License-Identifier: BSD-3-Clause
// See radix_sort.hpp.
#include "backend/radix_sort.hpp"

namespace graft::backend {

namespace {

constexpr int digit_bits = 8;
constexpr int64_t buckets = int64_t{1} << digit_bits;
constexpr int64_t digits = 64 / digit_bits;
constexpr int64_t smallest_block = 1 << 14;

int64_t digit_of(uint64_t key, int64_t digit) {
    return static_cast<int64_t>(key >> (digit * digit_bits)) & (buckets - 1);
}

/// Histograms of digits [first, last) of one block: counts[digit * buckets + bucket].
void count_block(const uint64_t* keys, int64_t begin, int64_t end, int64_t first, int64_t last,
                 uint32_t* counts) {
    std::memset(counts + first * buckets, 0,
                sizeof(uint32_t) * static_cast<size_t>((last - first) * buckets));
    for (int64_t i = begin; i < end; ++i)
        for (int64_t d = first; d < last; ++d)
            ++counts[d * buckets + digit_of(keys[i], d)];
}

/// Whether all n keys have the same digit, from the histograms of all blocks.
bool digit_is_trivial(const uint32_t* counts, int64_t blocks, int64_t digit, uint64_t key, int64_t n) {
    int64_t same = 0;
    for (int64_t b = 0; b < blocks; ++b)
        same += counts[(b * digits + digit) * buckets + digit_of(key, digit)];
    return same == n;
}

/// Turns the histograms of one digit into the place where each block writes its first key of each bucket.
void scan_digit(uint32_t* counts, int64_t blocks, int64_t digit) {
    uint32_t place = 0;
    for (int64_t bucket = 0; bucket < buckets; ++bucket)
        for (int64_t b = 0; b < blocks; ++b) {
            uint32_t& slot = counts[(b * digits + digit) * buckets + bucket];
            const uint32_t count = slot;
            slot = place;
            place += count;
        }
}

} // namespace

void RadixSorter::sort(const Executor& executor, core::Buffer<uint64_t>& keys,
                       core::Buffer<int32_t>& values) {
    const int64_t n = keys.size();
    if (n < 2)
        return;
    keys_.resize(n);
    values_.resize(n);
    const int64_t block = std::max(smallest_block, (n + executor.threads - 1) / executor.threads);
    const int64_t blocks = (n + block - 1) / block;
    counts_.resize(blocks * digits * buckets);
    const auto block_counts = [&](int64_t begin) {
        return counts_.data() + begin / block * digits * buckets;
    };
    const auto count = [&](int64_t first, int64_t last) {
        executor.for_blocks(n, block, [&](int64_t begin, int64_t end, int) {
            count_block(keys.data(), begin, end, first, last, block_counts(begin));
        });
    };
    count(0, digits);
    bool moved = false; // keys have moved between blocks: the histograms of single blocks are stale
    for (int64_t digit = 0; digit < digits; ++digit) {
        if (digit_is_trivial(counts_.data(), blocks, digit, keys[0], n))
            continue;
        if (moved)
            count(digit, digit + 1);
        scan_digit(counts_.data(), blocks, digit);
        executor.for_blocks(n, block, [&](int64_t begin, int64_t end, int) {
            uint32_t* places = block_counts(begin) + digit * buckets;
            for (int64_t i = begin; i < end; ++i) {
                const uint32_t place = places[digit_of(keys[i], digit)]++;
                keys_[place] = keys[i];
                values_[place] = values[i];
            }
        });
        keys.swap(keys_);
        values.swap(values_);
        moved = blocks > 1;
    }
}

} // namespace graft::backend
