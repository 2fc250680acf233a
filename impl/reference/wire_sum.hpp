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

#include "reference/direct_sum.hpp"

namespace graft::reference {

/// Overwrites `field` at the targets. Any thread count gives the same bits. Cost: about 400 terms a source
/// and target. Error about 1e-16 of the field of the nearest image for targets within a hundred periods of
/// the sources.
void wire_sum(double period, const Points& sources, const double* charge, const Points& targets, int threads,
              const Field& field);

} // namespace graft::reference
