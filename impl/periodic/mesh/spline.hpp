// SPDX-License-Identifier: BSD-3-Clause
// Cardinal B-splines of even order: how a particle is spread over the points of a mesh, and read from them.
//
// Of a particle at u (in units of the spacing) the points floor(u) - P/2 + 1 ... floor(u) + P/2 have the weights
// M_P(u - point + P/2). Lane k of the table is the k-th of them, a polynomial of t = u - floor(u) - 1/2.
// Source: Essmann et al. 1995, J. Chem. Phys. 103, 8577, eq. 4.1.
#pragma once

namespace graft::periodic {

inline constexpr int spline_lanes = 8; // the highest order

/// Coefficients by power of t, of the weights and of their derivatives by u; lanes from `order` on are 0.
template <typename T>
struct Spline {
    int order = 0;
    alignas(64) T value[spline_lanes][spline_lanes] = {};
    alignas(64) T slope[spline_lanes][spline_lanes] = {};
};

/// order: 4, 6 or 8.
template <typename T>
Spline<T> make_spline(int order);

} // namespace graft::periodic
