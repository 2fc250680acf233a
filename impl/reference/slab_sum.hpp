// SPDX-License-Identifier: BSD-3-Clause
// The oracle of slabs (images along two axes): the two-dimensional Ewald sum in long double, plainly.
//
// No vacuum, no correction: it shares neither code nor formula with what it judges. Units and signs as in
// direct_sum.hpp; a target that is a source feels its own images and not itself. Layers act on each other by
// -2 pi |z| / A, whatever their net charge. Source: Parry 1975 (Surface Science 49, 433; 54, 195), as in de
// Leeuw & Perram 1979.
#pragma once

#include "reference/direct_sum.hpp"

namespace graft::reference {

/// Overwrites `field` at the targets; a[2] and b[2] are the edge vectors in the x y plane, z is the open
/// axis. Any thread count gives the same bits. Cost: about sources * targets * 1e3. Throws std::bad_alloc.
void slab_sum(const double (&a)[2], const double (&b)[2], const Points& sources, const double* charge,
              const Points& targets, int threads, const Field& field);

} // namespace graft::reference
