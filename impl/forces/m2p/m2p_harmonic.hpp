// SPDX-License-Identifier: BSD-3-Clause
// M2P of the orders above moments::cartesian_order, which m2p() calls for them.
#pragma once

#include "forces/m2p/m2p.hpp"

namespace graft::forces {

/// See m2p(); cells without softening, `chunk` a number of whole vectors. Cost: about 9 (order + 2)^2 operations a cell
/// and target.
template <typename T>
void m2p_harmonic(const CellVariant& variant, const Cells<T>& cells, const Targets<T>& targets, int64_t chunk,
                  const FieldSums& sums);

} // namespace graft::forces
