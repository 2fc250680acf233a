// SPDX-License-Identifier: BSD-3-Clause
// Forces on ranks that are not there: what one force evaluation over P simulated ranks sends and waits, for
// either way of the exchange.
//
// Particles are the objects of the balancers' study (a Plummer sphere), brought to the domains of an ORB
// first, as a host would have them; then one computation by the same solver as on real ranks.
#pragma once

#include "study/simulate/simulated_cost.hpp"
#include "settings/settings.hpp"

#include <cstdint>

namespace graft::study {

struct ForceStudy {
    int32_t ranks = 64;
    int64_t particles_per_rank = 1000;
    Network network;
    double gamma_s = -1; // an elementary step (backend/step_count.hpp); negative: thread time is measured
    uint64_t seed = 1;
    settings::Settings settings; // of the solver; threads is 1 whatever it says
};

struct ForceStudyResult {
    double total_s = 0;                     // of compute(), latest rank
    double wait_max_s = 0, wait_mean_s = 0; // in communication
    int64_t bytes_sent_max = 0, messages_max = 0;
    double bytes_sent_mean = 0, messages_mean = 0, collectives_mean = 0;
    double particles_mean = 0, nodes_mean = 0; // that a rank got from others
    int64_t rounds = 0;
    double pairs = 0, cells = 0; // over all ranks
    double imbalance = 1;
    int64_t rank_bytes_peak = 0;
    double wall_s = 0;
    double checksum = 0; // sum over particles of |acceleration|
};

/// Not collective: one thread plays all ranks. Throws what Solver::compute throws, and Error(argument) for a
/// study that makes no sense.
ForceStudyResult simulate_forces(const ForceStudy& study);

} // namespace graft::study
