// SPDX-License-Identifier: BSD-3-Clause
// The oracle of wires (images along z only): the images one by one in long double, the rest of them by an
// integral.
//
// No waves, no vacuum, no correction: it shares neither code nor formula with what it judges. Units and signs
// as in direct_sum.hpp; a target that is a source feels its own images and not itself. The sum of a row of
// equal charges has no end but in its differences: the potential is the one that is
// -2 q ln(d / period) / period far from the row, zero one period away. Source: the Euler-Maclaurin formula
// for midpoints (Davis & Rabinowitz, Methods of Numerical Integration, 2.9).
#pragma once

#include "reference/pair_loop.hpp"

#include <cmath>

namespace graft::reference {

namespace wire_detail {

inline constexpr int images = 200; // on either side

inline void add_image(Real q, Real x, Real y, Real z, LongSum& sum) {
    const Real r = std::sqrt(x * x + y * y + z * z);
    if (r == 0) // itself
        return;
    const Real cube = q / (r * r * r);
    sum.potential += q / r;
    sum.x -= cube * x;
    sum.y -= cube * y;
    sum.z -= cube * z;
}

/// The images beyond z, which is half a period after the last that was summed; `up`: 1 for those below the
/// target, -1 for those above it. f(z) = 1 / r: integral of f / h + h f' / 24 - 7 h^3 f''' / 5760.
inline void add_tail(Real h, Real q, Real x, Real y, Real z, Real up, LongSum& sum) {
    const Real s = x * x + y * y + z * z, r = std::sqrt(s), r3 = r * s, r5 = r3 * s, r7 = r5 * s, r9 = r7 * s;
    const Real one = h / 24, three = 7 * h * h * h / 5760;
    sum.potential +=
        q * (-std::log((z + r) / h) / h - one * z / r3 - three * (9 * z * s - 15 * z * z * z) / r7);
    const Real across =
        -1 / (h * r * (z + r)) + one * 3 * z / r5 - three * (105 * z * z * z - 45 * z * s) / r9;
    sum.x += q * x * across;
    sum.y += q * y * across;
    sum.z += up * q *
             (-1 / (h * r) + one * (3 * z * z - s) / r5 -
              three * (105 * z * z * z * z - 90 * z * z * s + 9 * s * s) / r9);
}

} // namespace wire_detail

/// Overwrites `field` at the targets. Any thread count gives the same bits. Cost: about 400 terms a source
/// and target. Error about 1e-16 of the field of the nearest image for targets within a hundred periods of
/// the sources.
inline void wire_sum(double period, const Points& sources, const double* charge, const Points& targets, int threads,
              const Field& field) {
    using namespace wire_detail;
    const Real h = period;
    sum_pairs(sources, charge, targets, threads, field,
              [=](Real q, Real x, Real y, Real apart, LongSum& sum) {
                  const Real z = apart - h * std::round(apart / h);
                  for (int n = -images; n <= images; ++n)
                      add_image(q, x, y, z + static_cast<Real>(n) * h, sum);
                  add_tail(h, q, x, y, (images + 0.5L) * h + z, 1, sum);
                  add_tail(h, q, x, y, (images + 0.5L) * h - z, -1, sum);
              });
}

} // namespace graft::reference
