// SPDX-License-Identifier: BSD-3-Clause
// The run time of Graft's own ORB on a GPU (decompose/orb/gpu/orb_gpu.cuh): rounds of up to four levels, in which
// no record moves, and one multi-way partition at the end of each.
//
// Bytes a particle with 4-byte coordinates: the box reads all three (12); level j of a round reads the
// coordinates that its cuts so far are made of, at most three (4, 8, 12, 12); the move reads and writes three
// coordinates and an index (32, the first one 28: the index is not there yet). Everything else of a level
// (launches, samples, brackets, the exact cut in its list) takes gpu.orb_level_s, gpu.orb_cell_s a cell
// and gpu.orb_point_s a particle: the lists are a share of all.
#pragma once

#include "study/papers/orb_time.hpp"

namespace graft::study {

/// Levels of each round: as even as can be, the longer ones last.
std::vector<int> orb_round_levels(double leaves, int levels_per_round);

/// Records on the GPU, steps box, count, levels, move. Unmeasured rates (gpu.orb_count_bytes_per_s,
/// gpu.orb_move_bytes_per_s, gpu.orb_level_s, ...) are the read and copy bandwidth, and nothing.
/// Throws Error(argument) unless 1 <= levels_per_round <= 16, Error(absent).
OrbPrediction orb_gpu_rounds(const OrbRun& run, const model::Machine& machine, int levels_per_round = 4);

} // namespace graft::study
