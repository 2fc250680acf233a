// SPDX-License-Identifier: BSD-3-Clause
// From arrays in device memory, of any layout, to the engine's contiguous doubles: import_arrays.hpp on the
// device.
//
// Invariants: nothing waits or allocates here; a value that cannot be used is noted in the DeviceImportState
// (the smallest array number, then the smallest item, as the host's code would find it) and the computation
// stops with bad_value. Charges are summed in a fixed order. Elements need not be aligned.
#pragma once

#include "backend/queue_gpu.cuh"
#include "particles/array_view.hpp"

#include <cstdint>

namespace graft::particles {

/// Which array an item that cannot be used was in; the host looks at them in this order.
enum class ImportArray : int32_t {
    x = 0, // to 2: positions
    charge = 3,
    softening = 4,
    point_x = 5, // to 7
    target_range = 8,
    target_twice = 9,
    charge_sum = 10
};

/// Why a computation has stopped: a charge is so light beside all others that single precision loses it.
inline constexpr auto too_light = static_cast<backend::StopReason>(8);

/// On the device, one of each computation.
struct DeviceImportState {
    uint64_t first_bad; // array << 40 | item; all bits set: none. Of results: first_result + array
    double bad_value;   // of a result
    double magnitude; // sum of |charge|, host units
    double net;       // sum of charge, host units
    double lightest;  // least |charge| that is not 0, host units; infinity: there is none
    double scale;     // internal charge = host charge * scale: charge_scale(magnitude)
    int64_t active;   // particles whose mask is set
};

/// Of DeviceImportState::first_bad.
inline constexpr int item_bits = 40;
__device__ inline unsigned long long bad_key(int array, int64_t item) {
    return (static_cast<unsigned long long>(array) << item_bits) | static_cast<unsigned long long>(item);
}

__device__ inline void note_first(DeviceImportState* state, unsigned long long key) {
    atomicMin(reinterpret_cast<unsigned long long*>(&state->first_bad), key);
}

/// One array to be imported: elements `first ...` of `view` (on the device, F32 or F64) to out[0 ... count).
struct DeviceRealImport {
    ArrayView view;
    ImportArray array;
    double least, most;
    double* out;
};
inline constexpr int most_device_imports = 5;

/// Enqueued: state to its beginning.
void clear_imports(backend::Queue& queue, DeviceImportState* state);

/// Enqueued, one pass: items [0, n) of each view to out; `offset` is what item 0 is called in errors.
/// n < 2^40.
void import_reals(backend::Queue& queue, int count, const DeviceRealImport* imports, int64_t n,
                  int64_t offset, DeviceImportState* state);
void fill(backend::Queue& queue, double* out, double value, int64_t n);

/// Enqueued, after the last import: magnitude and scale from n > 0 charges, which are then scaled; bad items
/// and an infinite sum become the status bad_value, one lighter than `least` (internal) too_light.
/// partial: charge_partials(n) values of scratch.
int64_t charge_partials(int64_t n);
void finish_import(backend::Queue& queue, double* charge, int64_t n, double least, double* partial,
                   DeviceImportState* state);

/// Enqueued: active[i] = view item i != 0 (I32, I64, U64), and their number to state->active.
void import_mask(backend::Queue& queue, const ArrayView& view, int64_t n, uint8_t* active,
                 DeviceImportState* state);
/// Enqueued: active[i] = 1 for the particles i + base that view names, else 0; entries out of range, or named
/// twice, are bad. owner: n words of scratch.
void import_targets(backend::Queue& queue, const ArrayView& view, int64_t n, int64_t base, uint32_t* owner,
                    uint8_t* active, DeviceImportState* state);
/// The same without charges: a bad item becomes the status bad_value.
void conclude_imports(backend::Queue& queue, DeviceImportState* state);

} // namespace graft::particles
