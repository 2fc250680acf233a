// SPDX-License-Identifier: BSD-3-Clause
// The run-time model of orthogonal recursive bisection put right: what a count really reads, how many
// bisections there really are, what the partition costs, what a launch costs.
//
// Against rehmann2022's equations 12 to 16 (orb_paper.hpp):
//  - a count reads the one coordinate that is cut, 4 bytes a particle, not 12;
//  - a cell bisects until a cut misses by at most alpha particles: log2(n / (2 alpha)) - 1 iterations for n
//    evenly spread ones (0.83 more where the cut must be exact: the gap between two neighbours varies), at
//    most 24, the bits of a coordinate's mantissa (his p is 32, his 20 at N = 2^30, d = 4096 is alpha = 5);
//    or as many as were measured. Cells that are done are not read again;
//  - before, a level brings the coordinate into one column (make axis: 4 B read, 4 B written a particle), the
//    only bytes that need to cross the link when the CPU partitions; when the GPU does, 12 B cross it once;
//  - after, the partition reads and writes all records once a level, on the GPU twice: to temporaries and
//    back;
//  - the host looks at every pass: it waits, gets a number a block (of 4,096 elements), and adds them up;
//    before a level it says which block has which cell;
//  - a kernel for one small cell takes as long as its longest block, however few its bytes.
#pragma once

#include "model/machine.hpp"

#include <string>
#include <vector>

namespace graft::study {

struct OrbRun {
    double particles = 0x1p30;
    double leaves = 4096;
    double iterations = 0;        // of a level's bisection, the mean over levels; 0: from miss_particles
    double miss_particles = 0.5;  // alpha: a cut may miss its place by so many; 0.5: exact
    double bytes_per_record = 12; // that the partition moves: three fp32 coordinates
};

/// His kernels: all cells of a level in one launch, with warp primitives (section 6.6) or without (6.5), or a
/// launch for each cell (6.4; columns and partition, too).
enum class OrbCounting { warp, level, cell };

/// One part of a run: its seconds and what they are made of.
struct OrbStep {
    const char* name;
    double seconds = 0;
    double bytes = 0;    // read and written where it runs, or sent
    double launches = 0; // of kernels
};

struct OrbPrediction {
    std::string variant;
    std::vector<OrbStep> steps;
    double total_s() const;
    /// Without the step of this name (rehmann2022 compares without the partition).
    double total_without_s(const char* step) const;
};

/// Mean iterations of a level.
double orb_iterations(const OrbRun& run);

/// Points that a thread of each cell's longest block takes one after another, added up over all cells.
double orb_rounds_of_cells(const OrbRun& run);

/// All on the CPU.
OrbPrediction orb_cpu(const OrbRun& run, const model::Machine& machine);
/// The GPU counts, the CPU makes the columns and partitions; one launch for all cells of a level.
OrbPrediction orb_gpu_count(const OrbRun& run, const model::Machine& machine);
/// The GPU does all of it; `resident`: the records are there already.
OrbPrediction orb_gpu(const OrbRun& run, const model::Machine& machine, bool resident,
                      OrbCounting counting = OrbCounting::warp);

/// Those of the above that the machine's numbers allow.
std::vector<OrbPrediction> orb_predictions(const OrbRun& run, const model::Machine& machine);

} // namespace graft::study
