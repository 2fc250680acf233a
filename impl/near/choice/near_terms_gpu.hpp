// SPDX-License-Identifier: BSD-3-Clause
// The near field's model on a GPU: what the phases of a layout count there, and one H200's numbers.
//
// A kernel takes as long as its pairs, or as its longest thread: indexed sums t x m pairs one after another,
// the others a target's m, tiled and ranges a part of them; each such step waits for memory and arithmetic
// (100 ns in float, 400 in double: latency, not slots), and no other thread helps where there are few.
// Collection is what the host takes to make a plan: its walk over the neighbours, 3 to 6 ns each, and tables
// that it writes and sends; records are written by the device.
// Charges are the kernels that bring them into the boxes' order and into records. Scatter is what is left of
// an execution: calls and waits (30 us), and the host's copies beyond the link's numbers, alike for all
// layouts.
#pragma once

#include "near/choice/near_time.hpp"

namespace graft::near {

/// Of the machine.
struct NearGpuSeconds {
    double slot_s = 0, chain_s = 0; // kernel only
    double once_slot_s = 0;         // kernel, tiled_once: of an instruction of a lane, the device's rate
    double once_warps = 0;          // that run at once there
    double kept_bytes = 0;          // near_kept_bytes
    double host_threads = 16;       // that walk over the neighbours
};

/// In NearPhase's order. kernel, where slots are times slot_s and steps, one source after another, times
/// chain_s (near_slot_s): call, steps of the longest thread (tiled: that reads sources itself), targets,
/// threads that wait until others have ended (ranges: times the runs they step through; group, tiled: runs),
/// slots of all pairs, then
///   indexed       -, steps of the longest thread whose sources the first level has not, -
///   ranges        runs that a thread steps through, slots of pairs beyond those that threads sum while the
///                 longest does, -
///   replicated,   -, steps of the longest thread beyond the second level, bytes of the records
///   interleaved
///   group         -, slots of pairs beyond those that threads sum while the longest does, bytes of the
///                 records
///   tiled         runs that a lane steps through, steps through shared memory, slots of their pairs
///   tiled_once    (pairs of boxes once) in place of slots of all pairs the lanes' instructions at the
///                 device's rate, with those that pass while the last warps end, and bytes of the sums that
///                 boxes leave each other, written and read; no others but the call
/// collection: call, neighbours of the walk on the thread that ends last, targets, bytes of the tables
/// (packed records: 8 a box more than the padded ones that are measured in their stead; a padded record a
/// box: 8 less), bytes of the layout / 64 (tiled: boxes with targets, whose units one thread makes;
/// tiled_once: neighbours, which it walks over to find each pair's first box), targets beyond a core's
/// caches, and, where its bytes are more than the library keeps for the next plan, those / 64 and one.
/// charges: call, sources of the longest record, which one thread or warp writes, targets (layouts without
/// records: sources), then
///   replicated    runs of all targets, stores that do not hide behind what a warp takes for its record, -
///   interleaved   -, stores, stores / sqrt(targets of a box): lanes of other boxes store apart
///   group         boxes, sources of all neighbourhoods, runs of all boxes
/// scatter: call, -, targets, -, -, targets beyond a core's caches.
model::NearTerms near_gpu_terms(NearLayout form, NearPhaseName phase, const NearTimeInput& problem,
                                const NearGpuSeconds& machine);

/// Of one H200 and its host, docs/lab/gpu/near.md, where nobody has measured.
const model::NearMachine& near_gpu_defaults();

} // namespace graft::near
