// SPDX-License-Identifier: BSD-3-Clause
// A whole force computation on one GPU, as the core sees it: part of the table of libgraft_cuda.so.
//
// Arrays of the host go in and out in any layout, in host or device memory; nothing is copied through the
// host that lives on the device. begin() enqueues everything and returns; end() waits, and only then are
// outputs complete (device outputs are complete for work enqueued on the same stream behind begin()). If
// buffers turned out too small, end() repeats the computation with larger ones; outputs are written only on
// success, but for the case of device arrays whose host goes on without end(): that host must check end()'s
// status before using them.
#pragma once

#include "backend/gpu_allocator.hpp"
#include "backend/gpu_library.hpp"
#include "forces/fed_report.hpp"
#include "particles/array_view.hpp"
#include "settings/settings.hpp"
#include "engine/solver.hpp"

#include <cstdint>

namespace graft::engine {

/// What a computation did; times by events on the device (seconds), 0 where not measured.
struct DeviceReport {
    struct Times {
        double import = 0, sort = 0, tree = 0, moments = 0, lists = 0, forces = 0, output = 0, total = 0,
               p2p = 0, m2p = 0;
    } time_s;
    forces::FedReport fed; // of all batches
    double pairs = 0, cells = 0, far_cells = 0;
    int64_t targets = 0;
    struct Tree {
        int64_t nodes = 0, leaves = 0, groups = 0, levels = 0;
        int32_t leaf = 0, group = 0; // N_leaf and N_group that it used
    } tree;
    int64_t batches = 0;
    int64_t bytes_lists = 0, bytes_device = 0, bytes_device_peak = 0, bytes_pinned = 0;
    int64_t allocations = 0;                   // device and pinned, since creation
    int64_t waits = 0;                         // blocking waits on the device, since creation
    int64_t repeats = 0;                       // computations repeated with larger buffers, since creation
    int64_t lists_built = 0, lists_reused = 0; // computations that walked, that used kept lists
    int64_t launches = 0;                      // kernels of the last computation
    int32_t graph = 0;                         // the last computation was a graph's replay
    int32_t device = 0;
    char device_name[256] = {0};
    char local[96] = {0};  // as Report::local
    char note[256] = {0};  // e.g. that the tree was built on the host, and why
    double totals[7] = {}; // virial (6) and energy, raw: before the sign and the constant
    struct Periodic {      // of the lattice sum; alpha 0: there was none
        double alpha = 0, cutoff = 0, largest_wave = 0;
        int64_t mesh[4] = {0, 0, 0, 0}; // in place of waves: order of its splines, points along the edges
        double volume = 0, edge = 0;  // the cell's; a slab's, along its open axis
        double net = 0, smallest = 0; // charge of all ranks, host units, and what of it would be rounding
    } periodic;
};

struct DeviceRanksTable;

struct DeviceForceTable {
    int32_t (*create)(const settings::DeviceOptions* options, void** engine, backend::DeviceError* error);
    void (*destroy)(void* engine);
    /// `points` NULL: compute; else field_at. stream: a cudaStream_t or NULL. The structs may go when begin
    /// returns, host arrays only after end.
    int32_t (*begin)(void* engine, const settings::Settings* settings, const ParticleInput* particles,
                     const ParticleInput* points, const Outputs* outputs, void* stream,
                     backend::DeviceError* error);
    int32_t (*end)(void* engine, DeviceReport* report, backend::DeviceError* error);
    /// work[i] as Solver::work_of_particles, host array of n; *known 0: nothing is left of a compute of n particles.
    int32_t (*work)(void* engine, double expansion_pairs, double* work, int64_t n, int32_t* known,
                    backend::DeviceError* error);
    const DeviceRanksTable* ranks; // engine/ranks/rank_force_table.hpp
    /// As end, but never repeats with results: where a buffer was too small, kept lists did not serve, or a sum
    /// was split for other particles, *again is 1, nothing has been written, report neither, and the same call
    /// from begin on has what it lacked. Results that are written were so in the order of begin's stream.
    /// Over ranks *again is always 0. Error(unsupported) where the host must build the tree.
    int32_t (*end_once)(void* engine, DeviceReport* report, int32_t* again, backend::DeviceError* error) = nullptr;
    /// *ended 1: what begin enqueued has, and end will not wait long, unless it repeats. Never waits.
    /// Error(call_order): nothing is in flight.
    int32_t (*poll)(void* engine, int32_t* ended, backend::DeviceError* error) = nullptr;
    /// The event (a cudaEvent_t) behind all that begin enqueued; the engine's own, for streams and threads to
    /// wait for until end. Over ranks behind the results. Error(call_order): nothing is in flight.
    int32_t (*event)(void* engine, void** event, backend::DeviceError* error) = nullptr;
    /// The host's allocator for all of the engine's device memory from now on, copied; NULL, or without
    /// functions: the driver. What the engine held is given back, and its counters begin anew.
    /// Error(call_order): a computation is in flight.
    int32_t (*set_allocator)(void* engine, const backend::GpuAllocator* allocator,
                             backend::DeviceError* error) = nullptr;
    /// Gives back what is kept for later computations, of device and page-locked memory, and forgets the last
    /// one; counters begin anew. The next begin takes memory again. Error(call_order): a computation is in
    /// flight.
    int32_t (*give_back)(void* engine, backend::DeviceError* error) = nullptr;
};

} // namespace graft::engine
