// SPDX-License-Identifier: BSD-3-Clause
// Whole force evaluations, measured again and again: one input, made here, in arrays on the host or on the
// device that this file owns; times of each stage, and errors against the reference where asked for.
//
// Times are the solver's own (by events on a GPU) of evaluations after `warm_up` others; "wall" is from call
// to return. Errors are against the reference, compensated sums in double precision on the CPU, over the
// values as the arrays hold them; beyond 5e10 pairs and with arrays on the device, against all pairs in fp64
// on the GPU.
#pragma once

#include "study/bench/cloud_points.hpp"
#include "model/machine.hpp"
#include "engine/buffer_tuning.hpp"
#include "settings/settings.hpp"
#include "engine/solver.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace graft::study {

using study::Cloud;

struct ForceBench {
    settings::Settings settings;
    Cloud cloud = Cloud::plummer; // total mass 1
    int64_t n = 1000000;
    uint64_t seed = 42;
    particles::ElementType type = particles::ElementType::f32; // of all arrays
    bool on_device = false;                                    // the arrays
    bool potential = false;
    engine::TreeSizesBy sizes = engine::TreeSizesBy::fixed;
    bool leaf_given = false, group_given = false;
    std::optional<model::Machine> machine; // its GPU's numbers for `sizes`; none: built in
    int warm_up = 2;                       // trials of the tree's sizes take 21
    int repeats = 7;
    int64_t targets = 0; // random ones whose error is measured; 0: none
};

struct ForceBenchResult {
    std::map<std::string, double> median; // the figures of query, and "time_s.wall"
    double best_s = 0;                    // of time_s.total
    double waits = 0, allocations = 0;    // blocking waits and allocations an evaluation, after the warm-up
    std::vector<double> errors;           // ascending, |a - a_reference| / |a_reference|
    bool checked_on_device = false;       // against all pairs on the GPU
    std::string backend;                  // that computed
    std::string device, note;             // its name, and what it has to say; "" on the CPU
    settings::Settings computed;          // of the last evaluation
    engine::TreeTuning::Told sizes;               // its leaf and group
    engine::BufferTuning::Told buffers;           // and its feed
};

/// Throws what Solver::compute throws, Error(device) for device arrays without a GPU. Memory: 28 n bytes
/// (f32), on the host or on the device; a check on the CPU of what is on the device takes 16 n on the host.
/// Cost: making the points, the evaluations, and n * targets pairs.
ForceBenchResult bench_force(const ForceBench& bench);

} // namespace graft::study
