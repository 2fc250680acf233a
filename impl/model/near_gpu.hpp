// The near field's model on a GPU: what the phases of a layout count there, and one H200's numbers.
//
// A kernel takes as long as its pairs, or as its longest thread: indexed sums t x m pairs one after another,
// the others a target's m, tiled a part of them; each such step waits for memory and arithmetic (100 ns in
// float, 400 in double: latency, not slots), and no other thread helps where there are few. Collection is the
// host's walk over the neighbours, and memory that is taken. An execution has 45 us of calls and waits.
#pragma once

#include "model/near_time.hpp"

namespace graft::model {

/// In NearPhase's order. kernel: call, chain (seconds of a slot x pairs of the longest thread), targets,
/// runs, slots x seconds, boxes; tiled with few targets a box: its chain and slots once more. collection:
/// call, neighbours, targets, boxes, bytes of the layout / 64. charges: call, -, targets, -, entries x
/// components.
NearTerms near_gpu_terms(NearLayout layout, NearPhaseName phase, const NearProblem& problem, double slot_s);

/// Of one H200 and its host, impl/docs/gpu/near.md, where nobody has measured.
const NearMachine& near_gpu_defaults();

} // namespace graft::model
