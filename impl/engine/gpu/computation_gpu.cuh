// SPDX-License-Identifier: BSD-3-Clause
// What the steps of one computation on a GPU share: handed to each of them, with what the steps before have
// made. What a step needs beside it is the step's own.
#pragma once

#include "backend/executor.hpp"
#include "backend/queue_gpu.cuh"
#include "backend/side_stream_gpu.cuh"
#include "engine/gpu/job_gpu.cuh"
#include "engine/gpu/step_clock_gpu.cuh"
#include "engine/gpu/sums_gpu.cuh"
#include "particles/export_arrays_gpu.cuh"
#include "periodic/periodic_gpu.cuh"

namespace graft::engine {

/// What the host reads of a computation, beside the status words.
struct DeviceOutcome {
    particles::DeviceImportState import;
    double totals[device_sum_count];
    double net_force[device_sum_count]; // NetForce's numbers and a 0
    periodic::PeriodicFacts periodic;
};

/// Whose results the engine holds.
enum class Phase {
    idle,  // nobody's: nothing has been computed, or it failed
    begun, // in flight
    done   // the last computation's
};

/// Where the tree of this computation comes from.
enum class TreeFrom {
    build,    // is built on the device, beside the particles
    in_place, // is built there in the particles' own memory, and the field's (tight_memory_gpu.cu)
    resumed,  // so, and stands already: this repeat begins at the lists
    kept,     // the computation's that built the kept lists
    host      // the host has built it, or, over ranks, knows its size
};

/// Order of the targets in the field: whose numbers lead from there to the host's items.
enum class TargetOrder {
    host,    // it is theirs
    targets, // the groups'
    lattice, // the lattice sum's
    chosen   // either, through the numbers of chosen particles
};

struct Computation {
    /// Throws Error(argument) for a device that is not there.
    Computation(int wanted_device, const backend::GpuAllocator& allocator);

    backend::Executor executor() { return {host_memory, backend::resolve_threads(job.settings.threads)}; }
    particles::DeviceImportState* import_state() { return &outcome.data()->import; }
    double* totals() { return outcome.data()->totals; }
    /// In the particles' memory, and the field's.
    bool in_place() const { return tree_from == TreeFrom::in_place || tree_from == TreeFrom::resumed; }
    /// Nothing goes out of what is enqueued from now on.
    void withhold() { withheld = true, job.outputs = {}; }
    void mark(int step) { clock.record(queue.stream(), step); }
    void clear_totals(); // enqueued
    /// NULL: one of its own, as the host may destroy its stream.
    void use_stream(cudaStream_t stream) noexcept;
    /// Enqueues the outcome's and the status words' way to the host, and the end of the clock.
    void fetch();
    /// After an error: what is under way reads our buffers and the host's arrays.
    void come_to_rest() noexcept;

    backend::DeviceMemory memory;
    backend::Queue queue;
    backend::SideStream side;
    core::Memory host_memory;
    DeviceClock clock;
    backend::Event enqueued; // behind all that begin() gave to the stream
    DeviceJob job;
    bool withheld = false; // its call is to be made again
    Phase phase = Phase::idle;
    TreeFrom tree_from = TreeFrom::build;
    TargetOrder order = TargetOrder::host;
    /// A cube for the keys of the octree that holds most particles, where that of all is too coarse for them; edge
    /// 0: that of all.
    struct {
        double lower[3] = {0, 0, 0}, edge = 0;
        bool has_halo = false;
    } root_of_most;
    backend::DeviceBuffer<DeviceOutcome> outcome;
    backend::PinnedBuffer<DeviceOutcome> host_outcome;
    backend::DeviceBuffer<double> block_sums; // scratch of sums over particles
    backend::DeviceStatus status{};           // of the last computation, once it has ended
    backend::DeviceStatus resumed{};          // TreeFrom::resumed: what was said of tree and groups
    int64_t repeats = 0, waits = 0;           // since creation
    int64_t launches_before = 0;
    const char* note = "";
};

} // namespace graft::engine
