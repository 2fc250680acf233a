// The near field's model on a GPU: what the phases of a layout count there, and one H200's numbers.
//
// A kernel takes as long as its pairs, or as its longest thread: indexed sums t x m pairs one after another,
// the others a target's m, tiled a part of them; each such step waits for memory and arithmetic (100 ns in
// float, 400 in double: latency, not slots), and no other thread helps where there are few. Collection is the
// host's walk over the neighbours, and memory that is taken. An execution has 45 us of calls and waits.
#pragma once

#include "model/near_time.hpp"

namespace graft::model {

/// Of the machine.
struct NearGpuSeconds {
    double slot_s = 0, chain_s = 0; // kernel only
    double kept_bytes = 0;          // near_kept_bytes
};

/// In NearPhase's order. kernel, where slots are times slot_s and steps, one source after another, times
/// chain_s (near_slot_s):
///   call, steps of the longest thread (tiled: that reads sources itself), targets, runs (ranges: of all
///   targets), slots of all pairs, then
///   indexed    -, steps of the longest thread whose sources the first level has not, -
///   ranges     runs that a thread steps through, -, -
///   replicated, interleaved    -, steps of the longest thread beyond the second level, bytes of the records
///   group      -, slots of pairs beyond those that threads sum while the longest does, bytes of the records
///   tiled      runs that a lane steps through, steps through shared memory, slots of their pairs
/// collection: call, neighbours, targets, boxes, bytes of the layout / 64, -, those and one where they are
/// more than the library keeps for the next plan. charges: call, sources of the longest record, which one
/// thread writes, targets, -, entries x components.
NearTerms near_gpu_terms(NearLayout layout, NearPhaseName phase, const NearProblem& problem,
                         const NearGpuSeconds& machine);

/// Of one H200 and its host, impl/docs/gpu/near.md, where nobody has measured.
const NearMachine& near_gpu_defaults();

} // namespace graft::model
