// SPDX-License-Identifier: BSD-3-Clause
// See tool_arguments.hpp.
#include "tool_arguments.hpp"

#include "deck/yaml_reader.hpp"

namespace graft::plugin {

ToolArguments read_tool_arguments(const char* yaml) {
    ToolArguments arguments;
    for (Entry& entry : read_yaml(yaml != nullptr ? yaml : "", "arguments"))
        if (entry.kind == EntryKind::scalar || entry.kind == EntryKind::null) // "key:" is an empty text
            arguments.emplace_back(std::move(entry.key), std::move(entry.text));
    return arguments;
}

} // namespace graft::plugin
