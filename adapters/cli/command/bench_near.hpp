// SPDX-License-Identifier: BSD-3-Clause
// `graft bench p2p` with options of boxes: the near field of boxes, layout by layout.
#pragma once

#include <string>
#include <vector>

namespace graft::cli {

/// Whether these words ask for boxes and not for the rate of all pairs: they do by any option that has a
/// meaning only there.
bool wants_bench_near(const std::vector<std::string>& words);
int bench_near_command(const std::vector<std::string>& words);

} // namespace graft::cli
