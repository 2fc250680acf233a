// SPDX-License-Identifier: BSD-3-Clause
// For arrays that fill a device: memory of just the size, and a sort without memory of its own.
#pragma once

#include "backend/queue_gpu.cuh"

namespace graft::backend {

/// As buffer.resize(size), but where it allocates, it allocates for `size` items and not for a sixteenth
/// more.
template <typename T>
void resize_exactly(DeviceBuffer<T>& buffer, int64_t size) {
    if (size > buffer.capacity())
        buffer.resize(size - size / 17); // grows to just `size`, or one more
    buffer.resize(size);
}

/// Two arrays of n items each, of which the first has the input, and the result.
template <typename T>
struct SortArrays {
    T *first, *second;
};

/// Enqueued: sorts (key, value) pairs as sort_pairs does, between the two arrays of either kind: 24 n bytes
/// in all, where sort_pairs takes 36 n. The result is in the first arrays; or, true, in the second ones.
/// Which, depends on the bits alone.
bool sort_pairs_within(Queue& queue, const SortArrays<uint64_t>& keys, const SortArrays<int32_t>& values,
                       int64_t n, int begin_bit, int end_bit);

} // namespace graft::backend
