// SPDX-License-Identifier: BSD-3-Clause
// Exclusive prefix sum over integers: the same result for any number of threads.
//
// Blocks are summed, the block sums are scanned in order, and each block is scanned from its start.
#pragma once

#include "backend/executor.hpp"
#include "core/buffer.hpp"

#include <cstdint>

namespace graft::backend {

inline constexpr int64_t scan_block = 1 << 15;

/// out[i] = sum of value(0) ... value(i - 1); returns the sum of all n. `value(i)` is called twice per item
/// when there is more than one block, so it must be cheap and pure. `block_sums` is scratch that the caller
/// keeps. out may be the array that value() reads.
template <typename T, typename Value>
T exclusive_scan(const Executor& executor, int64_t n, Value&& value, T* out, core::Buffer<T>& block_sums) {
    const int64_t blocks = (n + scan_block - 1) / scan_block;
    block_sums.resize(blocks);
    if (blocks > 1)
        executor.for_blocks(n, scan_block, [&](int64_t begin, int64_t end, int) {
            T sum{};
            for (int64_t i = begin; i < end; ++i)
                sum += value(i);
            block_sums[begin / scan_block] = sum;
        });
    T total{};
    for (int64_t b = 0; blocks > 1 && b < blocks; ++b) {
        const T sum = block_sums[b];
        block_sums[b] = total;
        total += sum;
    }
    executor.for_blocks(n, scan_block, [&](int64_t begin, int64_t end, int) {
        T sum = blocks > 1 ? block_sums[begin / scan_block] : T{};
        for (int64_t i = begin; i < end; ++i) {
            const T next = value(i);
            out[i] = sum;
            sum += next;
        }
        if (blocks == 1)
            total = sum;
    });
    return total;
}

} // namespace graft::backend
