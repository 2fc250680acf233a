// SPDX-License-Identifier: BSD-3-Clause
// One thread an item, or two lanes a record; types are chosen at run time, the same for all threads of a launch.
#include "particles/export_arrays_gpu.cuh"

#include "particles/scatter_gpu.cuh"
#include "particles/export_arrays_batch_gpu.cuh"

namespace graft::particles {

namespace {

constexpr int threads = 256;

/// Value of array a, which is `raw` in the engine's units, to its place `to`; `item` is what weights know it
/// by. After bad_result nothing is written, and the first bad one is kept for the message.
__device__ void export_value(const ExportBatch& batch, int a, double raw, int64_t item, int64_t to,
                             double scale, DeviceImportState* state, const backend::DeviceStatus* status) {
    const double result = result_of(batch, a, raw, item, to, scale);
    if (!backend::stopped(status))
        store_real(batch.view[a], to, result);
    else if (state->first_bad == bad_key(first_result + batch.array[a], item))
        state->bad_value = result;
}

__global__ void export_kernel(const ExportBatch batch, const int32_t* index, DeviceImportState* state,
                              const backend::DeviceStatus* status) {
    const int64_t k = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (k >= batch.n || !goes_out(status))
        return;
    const int64_t item = index != nullptr ? index[k] : k;
    const double scale = state->scale;
    if (batch.packed != nullptr)
        batch.packed[k] = static_cast<int32_t>(item);
#pragma unroll
    for (int a = 0; a < most_device_exports; ++a) {
        if (a >= batch.count)
            break;
        export_value(batch, a, batch.value[a][k], item, batch.packed != nullptr ? k : item, scale, state, status);
    }
}

/// Two lanes a particle write its record to its place, a whole sector a request; several particles a lane.
constexpr int record_items = 4;
__global__ void __launch_bounds__(threads)
    scatter_kernel(const ExportBatch batch, const int32_t* index, ExportRow* records,
                   const backend::DeviceStatus* status) {
    constexpr int stride = threads / 2;
    if (!goes_out(status))
        return;
    const int half = static_cast<int>(threadIdx.x) % 2;
    const int64_t begin = int64_t{blockIdx.x} * (stride * record_items) + threadIdx.x / 2;
    const double* const first = batch.value[2 * half];
    const double* const second = batch.value[2 * half + 1];
#pragma unroll
    for (int r = 0; r < record_items; ++r) {
        const int64_t k = begin + r * stride;
        if (k < batch.n)
            reinterpret_cast<double2*>(records + index[k])[half] = {first != nullptr ? first[k] : 0.0,
                                                                    second != nullptr ? second[k] : 0.0};
    }
}

/// As export_kernel, from records in the host's order.
__global__ void unpack_kernel(const ExportBatch batch, const ExportRow* records, DeviceImportState* state,
                              const backend::DeviceStatus* status) {
    const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= batch.n || !goes_out(status))
        return;
    const double scale = state->scale;
    const auto* from = reinterpret_cast<const double2*>(records + i);
    const double2 low = from[0], high = batch.count > 2 ? from[1] : double2{0, 0};
    const double raw[most_device_exports] = {low.x, low.y, high.x, high.y};
#pragma unroll
    for (int a = 0; a < most_device_exports; ++a) {
        if (a >= batch.count)
            break;
        export_value(batch, a, raw[a], i, i, scale, state, status);
    }
}

} // namespace

void export_reals(backend::Queue& queue, int count, const DeviceRealExport* exports, const int32_t* index,
                  int64_t n, int32_t* packed, DeviceImportState* state) {
    if (n == 0 || count == 0)
        return;
    const ExportBatch batch = export_batch(count, exports, n, packed);
    export_kernel<<<backend::blocks_for(n, threads), threads, 0, queue.stream()>>>(batch, index, state,
                                                                                   queue.status());
    GRAFT_CUDA_LAUNCHED("export_reals");
    ++queue.launches;
}

void export_by_records(backend::Queue& queue, int count, const DeviceRealExport* exports,
                       const int32_t* index, int64_t n, DeviceImportState* state, ExportRow* records) {
    if (n == 0 || count == 0)
        return;
    const ExportBatch batch = export_batch(count, exports, n, nullptr);
    scatter_kernel<<<backend::blocks_for(2 * n, threads * record_items), threads, 0, queue.stream()>>>(
        batch, index, records, queue.status());
    GRAFT_CUDA_LAUNCHED("records of results");
    ++queue.launches;
    export_records(queue, count, exports, n, state, records);
}

void export_records(backend::Queue& queue, int count, const DeviceRealExport* exports, int64_t n,
                    DeviceImportState* state, const ExportRow* records) {
    if (n == 0 || count == 0)
        return;
    unpack_kernel<<<backend::blocks_for(n, threads), threads, 0, queue.stream()>>>(
        export_batch(count, exports, n, nullptr), records, state, queue.status());
    GRAFT_CUDA_LAUNCHED("results from records");
    ++queue.launches;
}

} // namespace graft::particles
