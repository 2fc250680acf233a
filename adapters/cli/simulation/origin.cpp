// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/origin.hpp"

#include <algorithm>
#include <cstdio>

namespace graft::cli {

namespace {

/// Sections and keys that say where and how fast, not what. A key that is not named here is physics.
constexpr const char* elsewhere[] = {"threads",    "backend", "log.", "run.",  "balance.",  "decompose.",
                                     "near_field", "gpu.",    "host.", "tree.scope"};

bool is_physics(const std::string& key) {
    return key == "run.time_step" ||
           std::ranges::none_of(elsewhere, [&key](const char* start) { return key.starts_with(start); });
}

std::string value_in(const Origin& origin, const std::string& key, const std::string& otherwise) {
    const auto found = std::ranges::find(origin.keys, key, &std::pair<std::string, std::string>::first);
    return found == origin.keys.end() ? otherwise : found->second;
}

std::string text_of(const FileIdentity& file) {
    char text[64];
    std::snprintf(text, sizeof text, "a file of %lld bytes, hash %016llx", static_cast<long long>(file.bytes),
                  static_cast<unsigned long long>(file.hash));
    return text;
}

std::string shown(const std::string& value) {
    return value.empty() ? "not given" : value;
}

} // namespace

Origin origin_of(const Deck& deck, const std::string& input) {
    Origin origin;
    for (const std::string& key : deck.engine().keys()) {
        if (is_physics(key)) {
            origin.keys.emplace_back(key, deck.get(key).value_or(""));
        }
    }
    if (!input.empty()) {
        origin.input = identity_of(input);
    }
    return origin;
}

std::vector<std::string> changes_since(const Origin& old, const Origin& now, const Deck& defaults) {
    std::vector<std::string> changes;
    if (old.version < 2) {
        changes.push_back(
            "the restart file is of format 1, which kept no keys but run.time_step, and not the "
            "input: whether they are the same cannot be seen");
    }
    for (const auto& [key, value] : now.keys) {
        const std::string before =
            value_in(old, key, old.version < 2 ? value : defaults.get(key).value_or(""));
        if (before != value) {
            changes.push_back(key + " was " + shown(before) + " and is " + shown(value));
        }
    }
    for (const auto& [key, value] : old.keys) {
        if (value_in(now, key, "\n") == "\n") {
            changes.push_back(key + " was " + shown(value) + " and is not known any more");
        }
    }
    const bool known = old.input.bytes > 0 && now.input.bytes > 0;
    if (known && (old.input.bytes != now.input.bytes || old.input.hash != now.input.hash)) {
        changes.push_back("run.input was " + text_of(old.input) + " and is " + text_of(now.input));
    }
    return changes;
}

} // namespace graft::cli
