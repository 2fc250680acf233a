// SPDX-License-Identifier: BSD-3-Clause
// The oracle of periodic boxes: Ewald's sum in long double, plainly, for any cell.
//
// It shares no code with what it judges. Terms are kept down to 1e-18 of the largest. Units and signs as in
// direct_sum.hpp: a towards the sources, phi = sum q / r. A pair at distance zero (a target and itself) loses
// its erf part; softened, it keeps its softened value at zero, as direct_sum's does. Net charge: uniform
// background. A spline acts on images nearer than softening_reach. Plummer's softening with one length for
// all acts on all of them (s^2 = r^2 + length^2 for r^2 in both parts); lengths per particle act nearer than
// softening_reach, their rms, weighted by |charge|, beyond. Source: Ewald 1921; Nymand & Linse 2000 for the
// virial.
#pragma once

#include "reference/direct_sum.hpp"

namespace graft::reference {

struct Cell {
    double edge[3][3]; // three edge vectors, of any angles but not in one plane
};

/// Overwrites `field` at the targets; energy (one half of sum q phi, may be NULL) and virial (six values xx
/// yy zz xy xz yz, its derivative by the strain, may be NULL) are those of the sources alone and want targets
/// that are the sources. Unsoftened energy contains no self terms. Any thread count gives the same bits.
/// Cost: about (sources + targets)^1.5 * 1e4. Throws std::bad_alloc.
void ewald_sum(const Cell& cell, const Points& sources, const double* charge, const Points& targets,
               Softening softening, double length, double softening_reach, int threads, const Field& field,
               double* energy, double* virial);

} // namespace graft::reference
