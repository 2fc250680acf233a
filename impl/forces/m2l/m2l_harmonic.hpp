// SPDX-License-Identifier: BSD-3-Clause
// M2L and L2P of the orders above moments::cartesian_order (moments/harmonics.hpp), which m2l() and l2p() call for them.
//
// The expansion's numbers are harmonic_count(local_order(order)) derivatives of the potential, in the order of
// harmonics.hpp; L(h) = sum L_beta h^beta / beta!, h^beta reduced.
#pragma once

#include "forces/m2l/m2l.hpp"

namespace graft::forces {

/// See m2l(); cells without softening. Cost: a sixth of (order + 1)^2 (local_order + 1)^2 products a cell.
template <typename T>
void m2l_harmonic(int order, const M2lSources<T>& cells, LocalExpansion& local);

/// See l2p(). Cost: 8 (local_order + 1)^2 operations a target.
template <typename T>
void l2p_harmonic(const CellVariant& variant, const LocalExpansion& local, const Targets<T>& targets,
                  const FieldSums& sums);

} // namespace graft::forces
