// SPDX-License-Identifier: BSD-3-Clause
// Writing JSON: objects and arrays as text, members in the order they were added.
// Invariants: numbers are the shortest decimals that read back to the same double; NaN and infinity become
// null.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace graft::cli {

std::string json_number(double value);
/// Quoted and escaped.
std::string json_string(std::string_view text);

/// An array of values that are JSON texts already.
class JsonArray {
  public:
    JsonArray& add(std::string_view json);
    std::string text() const { return "[" + body_ + "]"; }

  private:
    std::string body_;
};

class JsonObject {
  public:
    JsonObject& add(std::string_view key, std::string_view value) { return add_raw(key, json_string(value)); }
    JsonObject& add(std::string_view key, const char* value) { return add(key, std::string_view(value)); }
    JsonObject& add(std::string_view key, double value) { return add_raw(key, json_number(value)); }
    JsonObject& add(std::string_view key, std::same_as<bool> auto value) {
        return add_raw(key, value ? "true" : "false");
    }
    template <std::integral Integer>
    requires(!std::same_as<Integer, bool>) JsonObject& add(std::string_view key, Integer value) {
        return add_raw(key, std::to_string(value));
    }
    JsonObject& add(std::string_view key, const JsonObject& value) { return add_raw(key, value.text()); }
    JsonObject& add(std::string_view key, const JsonArray& value) { return add_raw(key, value.text()); }
    /// A value that is JSON text already.
    JsonObject& add_raw(std::string_view key, std::string_view json);
    std::string text() const { return "{" + body_ + "}"; }

  private:
    std::string body_;
};

} // namespace graft::cli
