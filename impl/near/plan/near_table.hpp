// SPDX-License-Identifier: BSD-3-Clause
// What host code may ask of near fields on a GPU: part of the table of libgraft_cuda.so
// (backend/gpu_library.hpp). A plan is one structure with one layout on one device.
//
// begin() enqueues and returns; end() waits, and only then host outputs are written. Host arrays go through
// page-locked memory; device arrays with stride 1 and the plan's type are taken as they are, others are
// gathered by the device. Sums that are no finite numbers are Error(value) of end(), and nothing is written but
// device arrays that were taken as they are. Points and charges are brought into units of the plan's own (near_units.hpp). The
// second execution of a plan allocates nothing. Calls of one plan come from one thread.
#pragma once

#include "backend/gpu_library.hpp"
#include "near/structure_parts.hpp"
#include "near/near_units.hpp"
#include "particles/array_view.hpp"

namespace graft::near {

struct DeviceNearOptions {
    int32_t device = 0;
    Layout layout = Layout::tiled;
    int64_t most_bytes = 0;      // of the layout's arrays; 0: no limit
    int32_t collect_on_host = 0; // copies of the paper's layouts are made by host threads
    int32_t host_threads = 0;    // 0: OpenMP's
    // layout_gpu.cuh; 0, small_blocks 2: its defaults
    int32_t threads = 0, target_lanes = 0, source_lanes = 0, window = 0, pairs_once = 0, small_blocks = 2;
    /// The structure is a part: of the caller's arrays, which may be on another GPU, these points are its
    /// own. Not with collect_on_host. NULL: it is the whole. Read by create() alone.
    const PartPoints* part = nullptr;
};

/// Where sums go; views that are not present() are not wanted. One component each, F32 or F64.
struct DeviceNearOutputs {
    particles::ArrayView potential[most_components];
    particles::ArrayView gradient[most_components][3];
};

struct DeviceNearReport {
    Times times;
    int64_t bytes = 0, bytes_device = 0, bytes_pinned = 0;
    int64_t bytes_kept = 0; // by the library of this GPU, for the next plan: device and page-locked
    int64_t allocations = 0, waits = 0, launches = 0; // since creation
    double pairs = 0;                                 // of one execution
    int32_t chunks = 1, device = 0;
    char device_name[256] = {0};
};

struct DeviceNearTable {
    uint32_t struct_size, unused;
    /// The structure's arrays must stay until destroy().
    int32_t (*create)(const DeviceNearOptions* options, const Structure* structure, const Sums* sums,
                      void** plan, backend::DeviceError* error);
    void (*destroy)(void* plan);
    /// Views of one component each; [2] is not read in two dimensions, sources not where the structure is the
    /// same. stream: a cudaStream_t or NULL. Host arrays may go when it returns. Not finite or beyond
    /// what the arithmetic holds: Error(value) that names the first index (of device arrays, too: it waits);
    /// waves whose phases are lost: Error(argument).
    int32_t (*set_points)(void* plan, const particles::ArrayView* targets,
                          const particles::ArrayView* sources, void* stream, backend::DeviceError* error);
    int32_t (*begin)(void* plan, const particles::ArrayView* charges, const DeviceNearOutputs* outputs,
                     void* stream, backend::DeviceError* error);
    /// report NULL: waits only, nothing is written.
    int32_t (*end)(void* plan, DeviceNearReport* report, backend::DeviceError* error);
    /// set_points() in three steps, so that plans of parts work at the same time and in the same units: sent
    /// (enqueued); waited for, refused where they are bad, and `all` widened to them; taken in the units that
    /// all points ask for.
    int32_t (*send_points)(void* plan, const particles::ArrayView* targets,
                           const particles::ArrayView* sources, void* stream, backend::DeviceError* error);
    int32_t (*see_points)(void* plan, PointBounds* all, backend::DeviceError* error);
    int32_t (*take_points)(void* plan, const PointBounds* all, backend::DeviceError* error);
    /// begin() in two steps: where arrays are on a GPU, all parts fetch their charges from it before one of
    /// them keeps it busy.
    int32_t (*send_charges)(void* plan, const particles::ArrayView* charges, const DeviceNearOutputs* outputs,
                            void* stream, backend::DeviceError* error);
    int32_t (*sum)(void* plan, const DeviceNearOutputs* outputs, backend::DeviceError* error);
    /// Between begin() and end(): waits until charges and sums have been looked at. Error(value) as end().
    int32_t (*see_sums)(void* plan, backend::DeviceError* error);
    /// Waits for what the caller has given to `stream`, on the device where `pointer` points to.
    /// Error(argument) where it is in capture.
    int32_t (*wait)(const void* pointer, void* stream, backend::DeviceError* error);
};

/// In libgraft_cuda.so only.
const DeviceNearTable& device_near_table();

} // namespace graft::near
