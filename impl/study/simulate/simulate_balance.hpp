// SPDX-License-Identifier: BSD-3-Clause
// A balancing on ranks that are not there: what the four strategies cost on P ranks of a machine of given
// latency, bandwidth and speed. The study of liu2022 section 2.1.3 and 2.3, with the balancer that real ranks
// use.
//
// Objects are a Plummer sphere with log-normal loads, object i from (seed, i) alone, dealt to the ranks in
// the order of their index: no rank makes more than its own.
#pragma once

#include "balance/balance.hpp"
#include "study/simulate/simulated_ranks.hpp"

#include <cstdint>
#include <string>

namespace graft::study {

struct Study {
    balance::Kind kind = balance::Kind::orb_distributed;
    int32_t ranks = 1024;
    int64_t objects = 0; // over all ranks; 0: objects_per_rank each
    double objects_per_rank = 16;
    double alpha_s = 1e-5;         // a message's latency
    double beta_s_per_byte = 1e-9; // and what its bytes cost
    double gamma_s = -1;           // an elementary step (backend/step_count.hpp); negative: thread time is measured
    int32_t node_size = 1;         // ranks of a node talk at node_alpha_s and node_beta_s_per_byte
    double node_alpha_s = 1e-6;
    double node_beta_s_per_byte = 1e-10;
    bool free_split = false; // splitting a communicator costs nothing (else an allgather, as in MPI)
    bool level = false;      // orb_distributed: all cells of a level together instead of halving
    double load_sigma = 1;   // of the logarithm of the loads
    uint64_t seed = 1;
    decompose::Options decompose; // thresholds, bins, tolerance, mix, curve
};

struct StudyResult {
    double init_s = 0;     // measuring, and the gather of the central strategies
    double strategy_s = 0; // the partition without that gather
    double total_s = 0;    // the whole call of the balancer
    double wall_s = 0;
    int64_t messages = 0, bytes = 0, collectives = 0;
    SimulatorReport::Kind kinds[7];             // the same by what was called
    double imbalance_before = 1, imbalance_after = 1; // of the load, max / mean over ranks
    double imbalance_count_after = 1;
    int64_t items_moved = 0;
    int64_t rank_bytes_peak = 0; // most bytes of buffers that one rank held
    uint64_t owners_hash = 0;    // of (object, owner) pairs; does not depend on the order of objects
};

/// Runs one balancing on simulated ranks. Not collective: one thread plays all ranks. Deterministic when
/// gamma_s >= 0. Throws Error(argument) for a study that makes no sense, Error(memory), and what
/// Balancer::run throws.
StudyResult simulate(const Study& study);

/// orb-central, orb-distributed, prefix-central, prefix-distributed. Throws Error(argument).
balance::Kind kind_of_name(const std::string& name);

/// Position, load of object i of n.
struct StudyObject {
    double x[3];
    double load;
};
StudyObject study_object(uint64_t seed, int64_t i, double load_sigma);

} // namespace graft::study
