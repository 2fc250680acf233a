// SPDX-License-Identifier: BSD-3-Clause
// The radix sort between two arrays, see exact_memory_gpu.cuh.
#include "backend/exact_memory_gpu.cuh"

#include <cub/device/device_radix_sort.cuh>

namespace graft::backend {

bool sort_pairs_within(Queue& queue, const SortArrays<uint64_t>& keys, const SortArrays<int32_t>& values,
                       int64_t n, int begin_bit, int end_bit) {
    if (n <= 0)
        return false;
    cub::DoubleBuffer<uint64_t> key_buffers(keys.first, keys.second);
    cub::DoubleBuffer<int32_t> value_buffers(values.first, values.second);
    const auto sort = [&](void* scratch, size_t& bytes) {
        check(cub::DeviceRadixSort::SortPairs(scratch, bytes, key_buffers, value_buffers, n, begin_bit,
                                              end_bit, queue.stream()),
              "DeviceRadixSort::SortPairs");
    };
    size_t bytes = 0;
    sort(nullptr, bytes);
    sort(queue.scratch(static_cast<int64_t>(bytes)), bytes);
    ++queue.launches;
    return key_buffers.Current() == keys.second;
}

} // namespace graft::backend
