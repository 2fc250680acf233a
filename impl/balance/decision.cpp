// SPDX-License-Identifier: BSD-3-Clause
// See decision.hpp.
#include "balance/decision.hpp"

#include <algorithm>

namespace graft::balance {

using core::format;

namespace {

/// Weights are sums of many doubles: what differs less than this is equal.
constexpr double rounding = 1e-9;

} // namespace

double gain_s(double step_s, double steps, double imbalance_before, double imbalance_after) {
    return imbalance_before > 0 ? step_s * steps * (1 - imbalance_after / imbalance_before) : 0;
}

Decision worth_trying(const Settings& settings, const Prospect& now, std::string& reason) {
    if (settings.force) {
        reason = format("max/mean %.4f, balancing forced", now.imbalance);
        return Decision::taken;
    }
    if (now.imbalance <= settings.tolerance) {
        reason =
            format("balanced: max/mean %.4f is within the tolerance %.4f", now.imbalance, settings.tolerance);
        return Decision::balanced;
    }
    if (now.imbalance <= now.heaviest * (1 + rounding)) {
        reason = format("balanced: max/mean %.4f is that of a rank with nothing but one object of %.4f mean "
                        "loads; split it or be content",
                        now.imbalance, now.heaviest);
        return Decision::balanced;
    }
    const double most = gain_s(now.step_s, settings.steps, now.imbalance, std::max(1.0, now.heaviest));
    if (now.step_s > 0 && most <= now.known_cost_s) {
        reason =
            format("not worth it: max/mean %.4f costs at most %.3g s in %g steps, the last balancing took "
                   "%.3g s",
                   now.imbalance, most, settings.steps, now.known_cost_s);
        return Decision::not_worth_it;
    }
    return Decision::taken;
}

Decision worth_taking(const Settings& settings, const Outcome& outcome, std::string& reason) {
    const double before = outcome.imbalance_before, after = outcome.imbalance_after;
    if (settings.force) {
        reason = format("taken because forced: max/mean %.4f before, %.4f after", before, after);
        return Decision::taken;
    }
    if (after >= before * (1 - rounding)) {
        reason =
            format("old owners kept: the new partition has max/mean %.4f, the old one %.4f", after, before);
        return Decision::kept_old;
    }
    const double gain = gain_s(outcome.step_s, settings.steps, before, after);
    if (outcome.step_s > 0 && gain <= outcome.move_s) {
        reason =
            format("not worth it: from max/mean %.4f to %.4f saves %.3g s in %g steps, moving takes about "
                   "%.3g s",
                   before, after, gain, settings.steps, outcome.move_s);
        return Decision::not_worth_it;
    }
    reason =
        outcome.step_s > 0
            ? format("taken: max/mean %.4f before, %.4f after; saves %.3g s in %g steps, moving takes about "
                     "%.3g s",
                     before, after, gain, settings.steps, outcome.move_s)
            : format("taken: max/mean %.4f before, %.4f after", before, after);
    return Decision::taken;
}

} // namespace graft::balance
