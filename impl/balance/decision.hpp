// SPDX-License-Identifier: BSD-3-Clause
// The two questions of a balancing, as pure functions of agreed numbers: is it worth trying, and is the
// result worth taking.
//
// Trying costs what the last balancing cost (partition and migration); the most it can save is the time above
// the mean. Once the partition stands its cost is spent: taking it costs the migration only. Source: liu2022
// section 2.4 (balancing too often hurts).
#pragma once

#include "balance/balance.hpp"

#include <string>

namespace graft::balance {

/// What is known before a partition is made. Weights are over the mean weight of a rank.
struct Prospect {
    double imbalance = 1;    // max / mean of the weight
    double heaviest = 0;     // the heaviest object
    double step_s = 0;       // of the busiest rank; 0: unknown
    double known_cost_s = 0; // what the last balancing cost; 0: none yet
};
/// What is known after it.
struct Outcome {
    double imbalance_before = 1, imbalance_after = 1;
    double step_s = 0;
    double move_s = 0; // of the migration
};

/// Seconds that a change of the imbalance saves until the next balancing.
double gain_s(double step_s, double steps, double imbalance_before, double imbalance_after);

/// taken: go on and make a partition. balanced and not_worth_it: why not, in `reason`.
Decision worth_trying(const Settings& settings, const Prospect& prospect, std::string& reason);
/// taken, kept_old or not_worth_it.
Decision worth_taking(const Settings& settings, const Outcome& outcome, std::string& reason);

} // namespace graft::balance
