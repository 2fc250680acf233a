// SPDX-License-Identifier: BSD-3-Clause
// `bench` with what: sweep. The loops that ORB is made of against the bandwidth of this machine, as JSON.
#pragma once

#include <string>

namespace graft::study {

/// Rates of count_left and of plain reading for arrays from the first-level cache to the main memory, on one
/// thread and on all; rates of partition. Takes about a second at 10 repetitions.
std::string sweep_json(int repetitions);

} // namespace graft::study
