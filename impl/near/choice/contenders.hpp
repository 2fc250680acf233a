// SPDX-License-Identifier: BSD-3-Clause
// Who takes part in a trial of layouts and what the trial may cost: for the CPU's (layout_trial.cpp) and the
// GPU's (layout_trial_gpu.cpp).
#pragma once

#include "near/choice/choose.hpp"

#include <vector>

namespace graft::near {

/// Those of `choice` that could be the fastest as far as the model knows, the most promising first, at most
/// three. They point into `choice`.
std::vector<const Candidate*> contenders(const Choice& choice);

/// Seconds that a trial of these may take: at most half of what it may save in a job of `job_s`
/// (worth_of_trial), and what the options allow.
double trial_budget_s(const std::vector<const Candidate*>& list, double job_s, const ChoiceOptions& options);

} // namespace graft::near
