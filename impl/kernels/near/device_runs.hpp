// A structure's neighbour boxes as runs of consecutive sources, made by host threads for a device
// (device_structure.cuh).
//
// The sources of a box's neighbours, in the order of its list, are numbered k = 0 ... m - 1. Neighbours whose
// sources follow each other are one run; empty ones are left out. Invariants: offset ascends, the runs of a
// box are disjoint and ascending; the same for any number of threads.
#pragma once

#include "kernels/near/near.hpp"

#include <vector>

namespace graft::kernels::near {

struct SlotRun {  // int2
    int32_t x, y; // begin, end: slots of sources
};

struct HostRuns {
    std::vector<int64_t> offset; // boxes + 1
    std::vector<SlotRun> run;
    std::vector<int32_t> sources; // of a box: m
    std::vector<int32_t>
        own;           // k of the box's first own point, -1: not in the list; empty: no box has its own
    int32_t most = 0;  // largest m
    int64_t total = 0; // sum of m
};

/// Of a box's neighbours: itself, the others, or both. Cost O(boxes + neighbours) over `threads` (0:
/// OpenMP's).
HostRuns merge_runs(const Structure& structure, bool itself, bool others, int32_t threads);

} // namespace graft::kernels::near
