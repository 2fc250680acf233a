// SPDX-License-Identifier: BSD-3-Clause
#include "command/json.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace graft::cli {

std::string json_number(double value) {
    if (!std::isfinite(value)) {
        return "null";
    }
    std::array<char, 32> buffer;
    const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    return {buffer.data(), result.ptr};
}

std::string json_string(std::string_view text) {
    std::string out = "\"";
    for (const char letter : text) {
        if (letter == '"' || letter == '\\') {
            out += '\\';
            out += letter;
        } else if (letter == '\n') {
            out += "\\n";
        } else if (static_cast<unsigned char>(letter) < 0x20) {
            std::array<char, 8> escape;
            std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(letter));
            out += escape.data();
        } else {
            out += letter;
        }
    }
    return out + '"';
}

JsonArray& JsonArray::add(std::string_view json) {
    body_ += (body_.empty() ? "" : ",");
    body_ += json;
    return *this;
}

JsonObject& JsonObject::add_raw(std::string_view key, std::string_view json) {
    body_ += (body_.empty() ? "" : ",") + json_string(key) + ":";
    body_ += json;
    return *this;
}

} // namespace graft::cli
