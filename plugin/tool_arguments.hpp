// SPDX-License-Identifier: BSD-3-Clause
// Arguments of tools from YAML.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace graft::plugin {

/// (dotted key, text) of each scalar. NULL: none. Throws DECK_SYNTAX, DECK_TYPE; messages begin "arguments:".
using ToolArguments = std::vector<std::pair<std::string, std::string>>;
ToolArguments read_tool_arguments(const char* yaml);

} // namespace graft::plugin
