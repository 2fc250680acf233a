// SPDX-License-Identifier: BSD-3-Clause
// The tools that measure, by name: arguments as (key, text) pairs, answers as JSON. The study library's one function calls them.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace graft::study {

/// Dotted keys and their texts.
using ToolArguments = std::vector<std::pair<std::string, std::string>>;

/// bench, simulate, model. Throws core::Error(argument) for an unknown tool or argument, else what the measurement throws.
std::string run_tool(const std::string& name, const ToolArguments& arguments);

} // namespace graft::study
