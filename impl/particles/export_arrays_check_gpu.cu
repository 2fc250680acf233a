// SPDX-License-Identifier: BSD-3-Clause
// A look at all results before the first is written: one pass over what the exports will read.
#include "particles/export_arrays_batch_gpu.cuh"

#include <algorithm>

namespace graft::particles {

namespace {

constexpr int threads = 256;

/// by_item: what is there, or a weight, is a part of the result; else the order does not matter, and is not
/// read.
__global__ void check_kernel(const ExportBatch batch, const int32_t* index, bool by_item,
                             DeviceImportState* state, backend::DeviceStatus* status) {
    const int64_t k = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (k >= batch.n || !goes_out(status))
        return;
    const auto item_of = [&] { return index != nullptr ? int64_t{index[k]} : k; };
    const int64_t item = by_item ? item_of() : k;
    const double scale = state->scale;
#pragma unroll
    for (int a = 0; a < most_device_exports; ++a) {
        if (a >= batch.count)
            break;
        if (holds(batch.view[a], result_of(batch, a, batch.value[a][k * batch.stride], item, item, scale)))
            continue;
        note_first(state, bad_key(first_result + batch.array[a], item_of()));
        backend::stop_with(status, bad_result);
    }
}

void check(backend::Queue& queue, const ExportBatch& batch, const int32_t* index, DeviceImportState* state) {
    const bool by_item = std::any_of(batch.add, batch.add + batch.count, [](bool add) { return add; }) ||
                         std::any_of(batch.weight, batch.weight + batch.count,
                                                  [](const double* weight) { return weight != nullptr; });
    check_kernel<<<backend::blocks_for(batch.n, threads), threads, 0, queue.stream()>>>(batch, index, by_item,
                                                                                        state, queue.status());
    GRAFT_CUDA_LAUNCHED("look at results");
    ++queue.launches;
}

} // namespace

BadResult bad_result_of(const DeviceImportState& state) {
    return {static_cast<int>(state.first_bad >> item_bits) - first_result,
            static_cast<int64_t>(state.first_bad & ((uint64_t{1} << item_bits) - 1))};
}

void check_reals(backend::Queue& queue, int count, const DeviceRealExport* exports, const int32_t* index,
                 int64_t n, DeviceImportState* state) {
    if (n > 0 && count > 0)
        check(queue, export_batch(count, exports, n, nullptr), index, state);
}

void check_records(backend::Queue& queue, int count, const DeviceRealExport* exports, int64_t n,
                   DeviceImportState* state, const ExportRow* records) {
    if (n == 0 || count == 0)
        return;
    ExportBatch batch = export_batch(count, exports, n, nullptr);
    batch.stride = most_device_exports;
    for (int a = 0; a < count; ++a)
        batch.value[a] = records->value + a;
    check(queue, batch, nullptr, state);
}

} // namespace graft::particles
