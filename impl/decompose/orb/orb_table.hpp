// SPDX-License-Identifier: BSD-3-Clause
// What host code may ask of ORB on the device: the table that libgraft_cuda.so fills
// (backend/gpu_library.hpp).
#pragma once

#include "backend/gpu_library.hpp"
#include "decompose/decompose.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace graft::decompose {

struct DeviceRecordsTable; // point_records_table.hpp

/// One rank's whole ORB: host arrays to the device, owners and order back.
struct DeviceOrbCall {
    Points points;
    int32_t parts, dimension;
    double mix;
    int64_t cap;
    int32_t* owner;       // n
    int32_t* permutation; // n, or NULL
    int64_t* part_offset; // parts + 1
    Cell* cells;          // 2 parts
    double cuts_s, total_s;
    int32_t threads = 1; // of the host, for copies
    double upload_s = 0; // until the arrays are on their way
};

struct DeviceOrbTable {
    uint32_t struct_size, unused;
    /// Keeps an engine and its memory on `device` until release().
    int32_t (*create)(int32_t device, void** orb, backend::DeviceError* error);
    void (*release)(void* orb);
    int32_t (*solve)(void* orb, DeviceOrbCall* call, backend::DeviceError* error);
    const DeviceRecordsTable* records; // of a rank among several
};

/// The table of this room (in libgraft_cuda.so only).
const DeviceOrbTable& device_orb_table();

} // namespace graft::decompose
