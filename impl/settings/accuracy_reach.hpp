// SPDX-License-Identifier: BSD-3-Clause
// Where mac.accuracy, read as the error of 99 of 100 forces, can be told beforehand not to hold. Measured:
// docs/lab/accuracy.md.
#pragma once

#include "settings/settings.hpp"

#include <string>

namespace graft::settings {

/// Below this, pairs in single precision make an error of their own.
inline constexpr double single_precision_floor = 2e-6;
/// By order: below this the error of one force in a hundred is more than twice what is asked.
inline constexpr double least_accuracy[] = {3e-6, 1e-3, 1e-4, 2e-5, 3e-6};
constexpr double least_accuracy_of(int order) {
    return order < 5 ? least_accuracy[order] : 0;
}

/// The key's text, with the numbers above.
inline constexpr const char* accuracy_meaning =
    "criterion error: force error per node, relative to the last acceleration. Within a factor of two the error of 99 of "
    "100 forces, down to 1e-3 at order 1, 1e-4 at order 2, 2e-5 at order 3, 3e-6 at orders 0 and 4, and to 2e-6 with "
    "precision fp32 or mixed; not where many particles lie within a softening length of each other";

struct AccuracyDoubt {
    std::string warning; ///< it does not hold: why, and what to change; "": nothing known against it
    std::string caution; ///< it may not hold, by where the particles are
};

/// Of the criterion error with method tree; nothing to say of others.
AccuracyDoubt accuracy_doubt(const Settings& settings);

} // namespace graft::settings
