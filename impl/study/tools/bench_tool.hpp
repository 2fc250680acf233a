// SPDX-License-Identifier: BSD-3-Clause
// The tool "bench": rates of kernels and loops.
#pragma once

#include "study/tools/tools.hpp"

namespace graft::study {

/// Rates of the kernels on one thread: P2P with its bound, M2P by order; or (what: sweep) of the loops of
/// ORB; or (what: p2p with a density) the layouts of the near field; or (what: orb or p2p, backend: gpu) on a GPU.
std::string bench_tool(const ToolArguments& arguments);

} // namespace graft::study
