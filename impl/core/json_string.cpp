// SPDX-License-Identifier: BSD-3-Clause
// See json_string.hpp.
#include "core/json_string.hpp"

#include "core/error.hpp"

namespace graft::core {

std::string json_string(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            (quoted += '\\') += c;
        else if (static_cast<unsigned char>(c) < 0x20)
            quoted += format("\\u%04x", static_cast<unsigned>(c));
        else
            quoted += c;
    }
    return quoted + "\"";
}

} // namespace graft::core
