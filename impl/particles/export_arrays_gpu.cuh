// SPDX-License-Identifier: BSD-3-Clause
// Results to arrays in device memory, of any layout: export_arrays.hpp on the device.
//
// Invariants: nothing waits or allocates here; all results are looked at before the first is written.
// Elements need not be aligned.
#pragma once

#include "particles/import_arrays_gpu.cuh"

namespace graft::particles {

/// The first result that is no finite number in the view's type, once a computation has stopped by it.
struct BadResult {
    int array; // as DeviceRealExport
    int64_t item;
};
BadResult bad_result_of(const DeviceImportState& state);
inline constexpr auto bad_result = static_cast<backend::StopReason>(5);

/// One result: view item index[k] (=|+=) factor / scale^scale_power * weight[index[k]] * value[k], rounded to
/// the view's type. `array`: its number among all results of a computation, in the order they are looked at.
struct DeviceRealExport {
    ArrayView view; // on the device; F32 or F64
    const double* value;
    double factor;
    int scale_power;      // 1 or 2
    const double* weight; // null: none
    int array;
};
inline constexpr int most_device_exports = 4;

/// Enqueued, before any export of the computation: the first result that would be no finite number stops it
/// with bad_result. index null: k itself. Reads only.
void check_reals(backend::Queue& queue, int count, const DeviceRealExport* exports, const int32_t* index,
                 int64_t n, DeviceImportState* state);

/// Enqueued, one pass; index null: k itself; packed not null: to view item k, and index[k] to packed[k].
/// Nothing is written when the computation has stopped; by bad_result: what the result would be, to
/// state->bad_value.
void export_reals(backend::Queue& queue, int count, const DeviceRealExport* exports, const int32_t* index,
                  int64_t n, int32_t* packed, DeviceImportState* state);

} // namespace graft::particles
