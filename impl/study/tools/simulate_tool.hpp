// SPDX-License-Identifier: BSD-3-Clause
// run_tool("simulate"): one balancing, or one force evaluation, on simulated ranks.
#pragma once

#include "study/tools/tools.hpp"

namespace graft::study {

/// Answers a JSON object; throws core::Error(argument) for an unknown or impossible argument.
std::string simulate_tool(const ToolArguments& arguments);

} // namespace graft::study
