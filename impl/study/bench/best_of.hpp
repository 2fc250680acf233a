// SPDX-License-Identifier: BSD-3-Clause
// The shortest of several measured times.
#pragma once

#include <algorithm>

namespace graft::study {

/// The shortest of up to `rounds` calls of seconds(). Ends after three or more when the two shortest are
/// within a hundredth of each other: what is left is then not noise that more rounds would find.
template <typename Seconds>
double best_of(int rounds, Seconds&& seconds) {
    double best = seconds(), second = 1e300;
    for (int round = 1; round < rounds && (round < 3 || second > 1.01 * best); ++round) {
        const double one = seconds();
        second = std::min(second, std::max(one, best));
        best = std::min(best, one);
    }
    return best;
}

} // namespace graft::study
