// SPDX-License-Identifier: BSD-3-Clause
// What mac.accuracy says of the error of forces, and where it can be told beforehand not to hold. Measured: docs/lab/accuracy.md.
#pragma once

#include "settings/settings.hpp"

#include <string>
#include <vector>

namespace graft::settings {

/// Below this, pairs in single precision make an error of their own.
inline constexpr double single_precision_floor = 2e-6;
/// By order: below this the error of one force in a hundred is more than twice what is asked, or was not measured.
inline constexpr double least_accuracy[] = {3e-6, 1e-3, 1e-4, 2e-5, 3e-6, 1e-7, 1e-8, 1e-8, 1e-10, 1e-10, 1e-10, 1e-10, 1e-10};

/// The key's text, with the numbers above. The same definition stands in capi/include/graft/api.h and the guide (accuracy.md).
inline constexpr const char* accuracy_meaning =
    "criterion error: what each node may make a force wrong by, relative to the acceleration there. With order and "
    "precision left to Graft, 99 of 100 forces are wrong by at most about twice this: down to 1e-10 on a CPU, 3e-6 "
    "on a GPU. The same holds with an order of your own, down to 3e-6 at order 0, 1e-3 at order 1, 1e-4 at order 2, "
    "2e-5 at order 3. Order 4 reaches 3e-6, order 5 1e-7, orders 6 and 7 1e-8, orders 8 to 12 1e-10. Precisions "
    "fp32 and mixed reach 2e-6. All this is for an open box, charges of one sign and no softening. In a thin disc "
    "forces by an order of your own may be wrong by 6 times mac.accuracy, at order 1 by 20 times. Forces that "
    "nearly cancel may be wrong by many times that. They do so with charges of both signs, in a periodic box (whose "
    "lattice sum has ewald.accuracy besides), and where many particles lie within a softening length of each other";

/// What speaks against mac.accuracy, and what to change; of the criterion error with method tree, nothing of others. And against
/// ewald.accuracy, of any method.
std::vector<std::string> accuracy_doubts(const Settings& settings, bool on_gpus = false);

} // namespace graft::settings
