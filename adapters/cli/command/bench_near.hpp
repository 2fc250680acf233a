// `graft bench p2p --density D`: the near field of boxes, layout by layout.
#pragma once

#include <string>
#include <vector>

namespace graft::cli {

/// Whether these words (after "p2p") ask for boxes and not for the rate of all pairs.
bool wants_bench_near(const std::vector<std::string>& words);
int bench_near_command(const std::vector<std::string>& words);

} // namespace graft::cli
