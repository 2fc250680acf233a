// SPDX-License-Identifier: BSD-3-Clause
// What a mesh's influence function needs of one axis: sums over all frequencies that its points cannot tell apart.
#pragma once

#include <cstdint>
#include <vector>

namespace graft::periodic {

/// Terms of what a particle does to itself that are taken off.
inline constexpr int mesh_self_terms = 2;

/// Of one entry k, over f_n = f + n count, U the splines' transform: U^2 of n = 0; the sums of U^2, f U^2, f^2 U^2, and of
/// U(n) U(n - m), m = 1, 2.
struct MeshAxisSums {
    double alone, square, first, second, shifted[mesh_self_terms];
};

/// Of all entries. order: of the splines.
std::vector<MeshAxisSums> mesh_axis_sums(int order, int64_t count);

/// Frequency of entry k of `count`.
inline double mesh_frequency(int64_t k, int64_t count) {
    return static_cast<double>(2 * k <= count ? k : k - count);
}

} // namespace graft::periodic
