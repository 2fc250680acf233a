// SPDX-License-Identifier: BSD-3-Clause
// What the bodies of pairs and cells stand on, for SIMD vectors and CUDA threads.
#pragma once

#include "core/target_bodies.hpp"

namespace graft::forces {

/// Added to every r^2: what keeps a pair at distance zero finite, and 1/r^3 too. Frame coordinates are of
/// size 1.
template <typename T>
inline constexpr double tiny_square = sizeof(T) == 4 ? 1e-20 : 1e-190;
template <typename T>
inline constexpr double tiny_length = sizeof(T) == 4 ? 1e-10 : 1e-95;

} // namespace graft::forces
