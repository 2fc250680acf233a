// SPDX-License-Identifier: BSD-3-Clause
// Blocked reduction whose order of operations does not depend on the number of threads.
//
// Each block of fixed size is reduced in index order; the block results are combined in block order.
#pragma once

#include "backend/executor.hpp"
#include "core/buffer.hpp"

#include <cstdint>

namespace graft::backend {

inline constexpr int64_t reduce_block = 1 << 14;

/// combine(combine(start, block 0), block 1)...; block(begin, end) reduces [begin, end) from nothing.
/// `partial` is scratch that the caller keeps (one T per block).
template <typename T, typename Block, typename Combine>
T reduce(const Executor& executor, int64_t n, const T& start, Block&& block, Combine&& combine,
         core::Buffer<T>& partial) {
    partial.resize((n + reduce_block - 1) / reduce_block);
    executor.for_blocks(n, reduce_block, [&](int64_t begin, int64_t end, int) {
        partial[begin / reduce_block] = block(begin, end);
    });
    T result = start;
    for (const T& value : partial)
        result = combine(result, value);
    return result;
}

} // namespace graft::backend
