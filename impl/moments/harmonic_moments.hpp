// SPDX-License-Identifier: BSD-3-Clause
// P2M and M2M of the orders above cartesian_order, see moments.hpp and harmonics.hpp.
#pragma once

#include "moments/p2m_m2m.hpp"

namespace graft::moments {

/// Sets the harmonic_count(order) numbers of leaf `index` from its particles. Its frame is known.
void harmonic_p2m(int order, const TreeArrays& tree, int32_t index, const MomentArrays& m);

/// The same of an inner node, from its children's.
void harmonic_m2m(int order, const TreeArrays& tree, int32_t index, const MomentArrays& m);

} // namespace graft::moments
