// SPDX-License-Identifier: BSD-3-Clause
// `graft bench orb`: Graft's decomposition and migration on a large input, on any number of ranks.
#pragma once

#include "command/commands.hpp"

namespace graft::cli {

/// The words after `bench orb`. Collective over Ranks::here().
int bench_orb_command(const Words& words);

} // namespace graft::cli
