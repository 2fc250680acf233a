// SPDX-License-Identifier: BSD-3-Clause
// Which pairs are too close to be told from coincident ones, in the layouts' units (near_units.hpp).
#pragma once

#include "near/near_pair.hpp"

namespace graft::near {

/// Gradients of these forms have 1/r^3.
constexpr bool has_cube(Form form) {
    return form == Form::laplace || form == Form::yukawa || form == Form::helmholtz;
}

/// Squares of distances below this count as zero where 1/r^3 is taken: it and its product with a charge below
/// 2 (of double: 2^120) are numbers then.
template <typename T>
inline constexpr T least_cubed = sizeof(T) == 4 ? T(0x1p-84) : T(0x1p-600);
/// Its root, of pairs in float.
inline constexpr double least_distance = 0x1p-42;

} // namespace graft::near
