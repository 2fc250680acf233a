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

enum class OrbVariant : int32_t {
    rounds = 0, // ours (orb_gpu.cuh)
    cell = 1,   // rehmann2022 section 6.4: bisection, a count-left kernel for every cell
    level = 2,  // 6.5: one launch for all cells of a level
    warp = 3,   // 6.6: the same with warp primitives
    sweep = 4,  // no ORB: count-left kernels over threads and elements a thread beside plain reading
};
enum class OrbAxis : int32_t { column = 0, direct = 1, strided = 2 }; // make-axis; columns; rows of three
enum class OrbPartition : int32_t { none = 0, cell = 1, level = 2 };  // none: measured without it

/// One measurement on points made on the device.
struct DeviceOrbBench {
    int64_t n = 1 << 20;
    int32_t leaves = 64;
    int32_t plummer = 0, lognormal = 0, fp64 = 0;
    int32_t repeats = 3, device = 0;
    uint64_t seed = 42;
    OrbVariant variant = OrbVariant::rounds;
    int32_t levels_per_round = 4, samples_per_cell = 4096; // ours
    int32_t threads = 256, items = 16;                     // rehmann2022's, as are those below
    OrbAxis axis = OrbAxis::column;
    OrbPartition partition = OrbPartition::level;
    int32_t temporaries = 3; // 3, or 1: with a permutation
    double tolerance = 0;    // of a cut, in points of a part
    int32_t verify = 1;
};

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
    /// The measurement's answer as JSON to text (room bytes).
    int32_t (*bench)(const DeviceOrbBench* request, char* text, int64_t room, backend::DeviceError* error);
    /// Keeps an engine and its memory on `device` until release().
    int32_t (*create)(int32_t device, void** orb, backend::DeviceError* error);
    void (*release)(void* orb);
    int32_t (*solve)(void* orb, DeviceOrbCall* call, backend::DeviceError* error);
    const DeviceRecordsTable* records; // of a rank among several
};

/// The table of this room (in libgraft_cuda.so only).
const DeviceOrbTable& device_orb_table();

} // namespace graft::decompose
