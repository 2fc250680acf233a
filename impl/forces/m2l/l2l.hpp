// SPDX-License-Identifier: BSD-3-Clause
// L2L: a local expansion about another centre, in another frame. Exact: a polynomial is moved.
#pragma once

#include "forces/m2l/m2l.hpp"

namespace graft::forces {

/// Sets `to.value` about to.centre in frame `to_frame` from an expansion of this order's degree (m2l.hpp) in
/// `from_frame`.
void l2l(int order, const LocalExpansion& from, const Frame& from_frame, const Frame& to_frame, LocalExpansion& to);

} // namespace graft::forces
