// SPDX-License-Identifier: BSD-3-Clause
// What one launch of an export does, and the value of one of its items: the same for the kernels that write
// results and for those that look at them before.
#pragma once

#include "particles/array_view_gpu.cuh"
#include "particles/scatter_gpu.cuh"

namespace graft::particles {

/// Arrays of results stand behind all ImportArrays.
inline constexpr int first_result = 16;

/// Whether results are looked at: bad ones stop what comes later, not the search for the first of them.
__device__ inline bool goes_out(const backend::DeviceStatus* status) {
    return status->stop == backend::go || status->stop == bad_result;
}

struct ExportBatch {
    DeviceView view[most_device_exports];
    const double* value[most_device_exports];
    const double* weight[most_device_exports];
    double factor[most_device_exports];
    int scale_power[most_device_exports], array[most_device_exports];
    int count;
    int stride; // of values
    int64_t n;
    int32_t* packed;
    bool add[most_device_exports];
};

/// What array a has at its place `to`, or would have there once `raw` has been added; `item` is what weights
/// know it by.
__device__ inline double result_of(const ExportBatch& batch, int a, double raw, int64_t item, int64_t to,
                                   double scale) {
    double factor = batch.factor[a] / scale;
    if (batch.scale_power[a] == 2)
        factor /= scale;
    if (batch.weight[a] != nullptr)
        factor = __dmul_rn(factor, batch.weight[a][item]);
    const double value = __dmul_rn(factor, raw);
    return batch.add[a] ? __dadd_rn(load_real(batch.view[a], to), value) : value;
}

__device__ inline void store_real(const DeviceView& view, int64_t item, double value) {
    view.size == 4 ? store(view, item, static_cast<float>(value)) : store(view, item, value);
}

/// Whether the view's type holds it as a finite number.
__device__ inline bool holds(const DeviceView& view, double value) {
    return view.size == 4 ? isfinite(static_cast<float>(value)) : isfinite(value);
}

inline ExportBatch export_batch(int count, const DeviceRealExport* exports, int64_t n, int32_t* packed) {
    ExportBatch batch{};
    batch.count = count, batch.n = n, batch.packed = packed, batch.stride = 1;
    for (int a = 0; a < count; ++a) {
        batch.view[a] = device_view(exports[a].view), batch.add[a] = exports[a].view.add;
        batch.value[a] = exports[a].value, batch.weight[a] = exports[a].weight;
        batch.factor[a] = exports[a].factor, batch.scale_power[a] = exports[a].scale_power;
        batch.array[a] = exports[a].array;
    }
    return batch;
}

} // namespace graft::particles
