// SPDX-License-Identifier: BSD-3-Clause
// The CUB calls behind primitives_gpu.cuh, compiled here alone (they take long to compile).
#include "backend/primitives_gpu.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

namespace graft::backend {

namespace {

/// CUB's two-step protocol: ask for the scratch, then run.
template <typename Call>
void with_scratch(Queue& queue, const char* name, const Call& call) {
    size_t bytes = 0;
    check(call(nullptr, bytes), name);
    void* scratch = queue.scratch(static_cast<int64_t>(bytes));
    check(call(scratch, bytes), name);
    ++queue.launches;
}

template <typename Key>
void sort_any(Queue& queue, const Key* keys_in, Key* keys_out, const int32_t* values_in, int32_t* values_out,
              int64_t n, int begin_bit, int end_bit) {
    if (n <= 0)
        return;
    with_scratch(queue, "DeviceRadixSort::SortPairs", [&](void* scratch, size_t& bytes) {
        return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys_in, keys_out, values_in, values_out, n,
                                               begin_bit, end_bit, queue.stream());
    });
}

template <typename In, typename Out>
void scan_any(Queue& queue, const In* in, Out* out, int64_t n) {
    if (n <= 0)
        return;
    with_scratch(queue, "DeviceScan::ExclusiveScan", [&](void* scratch, size_t& bytes) {
        return cub::DeviceScan::ExclusiveScan(scratch, bytes, in, out, ::cuda::std::plus<>{}, Out{0}, n,
                                              queue.stream());
    });
}

template <typename T>
void sum_any(Queue& queue, const T* in, T* out, int64_t n) {
    with_scratch(queue, "DeviceReduce::Sum", [&](void* scratch, size_t& bytes) {
        return cub::DeviceReduce::Sum(scratch, bytes, in, out, n, queue.stream());
    });
}

} // namespace

void sort_pairs(Queue& queue, const uint64_t* keys_in, uint64_t* keys_out, const int32_t* values_in,
                int32_t* values_out, int64_t n, int begin_bit, int end_bit) {
    sort_any(queue, keys_in, keys_out, values_in, values_out, n, begin_bit, end_bit);
}

void sort_pairs(Queue& queue, const uint32_t* keys_in, uint32_t* keys_out, const int32_t* values_in,
                int32_t* values_out, int64_t n, int begin_bit, int end_bit) {
    sort_any(queue, keys_in, keys_out, values_in, values_out, n, begin_bit, end_bit);
}

void sort_keys(Queue& queue, const uint64_t* keys_in, uint64_t* keys_out, int64_t n, int begin_bit,
               int end_bit) {
    if (n <= 0)
        return;
    with_scratch(queue, "DeviceRadixSort::SortKeys", [&](void* scratch, size_t& bytes) {
        return cub::DeviceRadixSort::SortKeys(scratch, bytes, keys_in, keys_out, n, begin_bit, end_bit,
                                              queue.stream());
    });
}

void exclusive_sum(Queue& queue, const int32_t* in, int32_t* out, int64_t n) {
    scan_any(queue, in, out, n);
}

void exclusive_sum(Queue& queue, const int32_t* in, int64_t* out, int64_t n) {
    scan_any(queue, in, out, n);
}

void exclusive_sum(Queue& queue, const int64_t* in, int64_t* out, int64_t n) {
    scan_any(queue, in, out, n);
}

void sum(Queue& queue, const double* in, double* out, int64_t n) {
    sum_any(queue, in, out, n);
}

void sum(Queue& queue, const int64_t* in, int64_t* out, int64_t n) {
    sum_any(queue, in, out, n);
}

void select_flagged(Queue& queue, const uint8_t* flag, int32_t* out, int32_t* count, int64_t n) {
    with_scratch(queue, "DeviceSelect::Flagged", [&](void* scratch, size_t& bytes) {
        return cub::DeviceSelect::Flagged(scratch, bytes, thrust::counting_iterator<int32_t>(0), flag, out,
                                          count, n, queue.stream());
    });
}

} // namespace graft::backend
