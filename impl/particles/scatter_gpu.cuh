// SPDX-License-Identifier: BSD-3-Clause
// Results to the host's order by way of records, a sector of memory a particle: particles stand in random
// order in the host's arrays, and a result of four bytes alone would cost a sector of its own.
//
// Two passes: 24 to 32 bytes a particle read and 32 written, at random but whole; 32 read and the results
// written, in order. The same results as export_reals().
#pragma once

#include "particles/export_arrays_gpu.cuh"

namespace graft::particles {

/// The results of one particle.
struct alignas(32) ExportRow {
    double value[most_device_exports];
};

/// Whether so many items are enough: below, one launch more costs more than it saves.
inline bool serves_records(int64_t n) {
    return n >= int64_t{1} << 18;
}

/// As export_reals() with an `index` that names each of the n items once, not packed. `records`: n of
/// scratch.
void export_by_records(backend::Queue& queue, int count, const DeviceRealExport* exports,
                       const int32_t* index, int64_t n, DeviceImportState* state, ExportRow* records);
/// As check_reals(), of records that somebody else has written.
void check_records(backend::Queue& queue, int count, const DeviceRealExport* exports, int64_t n,
                   DeviceImportState* state, const ExportRow* records);
/// Its second pass alone, where somebody else has written the records.
void export_records(backend::Queue& queue, int count, const DeviceRealExport* exports, int64_t n,
                    DeviceImportState* state, const ExportRow* records);

} // namespace graft::particles
