// SPDX-License-Identifier: BSD-3-Clause
// Counts what each simulated rank takes through operator new, small control data and all.
#pragma once

#include <cstdint>

namespace graft::test {

/// Starts anew for `ranks` ranks.
void count_rank_memory(int32_t ranks);
/// The most bytes that a rank has held at one time since then; rank 0 left out when `others` (a central rank
/// may hold everything).
int64_t most_held_by_a_rank(bool others = false);

} // namespace graft::test
