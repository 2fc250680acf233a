// SPDX-License-Identifier: BSD-3-Clause
// Where the core meets libgraft_cuda.so: one C table, found at run time.
//
// libgraft.so links no CUDA. It opens libgraft_cuda.so (GRAFT_CUDA_LIBRARY, or the file beside libgraft.so)
// when a GPU backend is asked for, once a process, and never closes it. What asks for the papers' kernels or for
// benches gets libgraft_cuda_study.so (GRAFT_CUDA_STUDY_LIBRARY, or beside), which has the same table and more
// behind it. All must come from one build: the build id is a hash of the sources that both sides share. Functions return a status
// and fill a DeviceError; no exception crosses.
#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <string>

namespace graft::engine {
struct DeviceForceTable; // engine/gpu/force_table.hpp
}
namespace graft::decompose {
struct DeviceOrbTable; // decompose/orb/orb_table.hpp
}
namespace graft::study {
struct DeviceBenchTable; // study/bench/bench_table.hpp
}
namespace graft::near {
struct DeviceNearTable; // near/plan/near_table.hpp
}

namespace graft::backend {

struct DeviceError {
    int32_t status = 0; // a core::Status
    char message[1020] = {0};
};

struct DeviceInfo {
    char name[256];
    int32_t major, minor; // compute capability
    int32_t multiprocessors, clock_khz;
    int64_t bytes_total, bytes_free, l2_bytes;
    char uuid[40]; // text, to tell devices of one host apart
};

/// Where a pointer lives.
enum class PointerKind : int32_t { host = 1, device = 2, managed = 3 };

struct CudaTable {
    uint32_t struct_size;
    uint32_t unused;
    const char* build_id;
    int32_t (*device_count)(int32_t* count, DeviceError* error);
    int32_t (*device_info)(int32_t device, DeviceInfo* info, DeviceError* error);
    /// Kind of the memory and the device it is on (-1: host).
    int32_t (*pointer_kind)(const void* pointer, int32_t* kind, int32_t* device, DeviceError* error);
    /// CUDA's numbers: 12040 is 12.4.
    int32_t (*versions)(int32_t* runtime, int32_t* driver, DeviceError* error);
    /// Arrays of the library's own measurements, which keep them on the device; Error(memory) when there is
    /// no room. copy: any direction, returns when it is done.
    int32_t (*allocate)(int32_t device, int64_t bytes, void** pointer, DeviceError* error);
    void (*release)(int32_t device, void* pointer);
    int32_t (*copy)(void* to, const void* from, int64_t bytes, DeviceError* error);
    const engine::DeviceForceTable* force;
    const decompose::DeviceOrbTable* orb;
    const study::DeviceBenchTable* bench; // of the study library; else NULL
    const near::DeviceNearTable* near;
};

enum class GpuLibrary { own, study };

/// The table, or NULL with the reason in *why: no library, another build, no driver, no device. Looks once for each;
/// thread-safe.
const CudaTable* find_cuda(std::string* why, GpuLibrary which = GpuLibrary::own);

/// The table when somebody has looked for it before, else NULL: does not look, and so does not start a driver.
const CudaTable* known_cuda() noexcept;

/// The table. Throws Error(device) with what was tried when there is none.
const CudaTable& require_cuda(GpuLibrary which = GpuLibrary::own);

/// Throws the core::Error that a table function reported, if any.
inline void raise(int32_t status, const DeviceError& error) {
    if (status != 0)
        throw core::Error(static_cast<core::Status>(status), error.message);
}

} // namespace graft::backend
