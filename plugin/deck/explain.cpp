// SPDX-License-Identifier: BSD-3-Clause
// The deck's schema for people and for programs.
#include "deck/deck.hpp"

#include "guard.hpp"
#include "json_string.hpp"

namespace graft::plugin {

using capi::json_string;

namespace {

const char* type_word(Type type) {
    switch (type) {
    case Type::choice:
        return "word";
    case Type::integer:
        return "integer";
    case Type::real:
        return "number";
    case Type::boolean:
        return "boolean";
    case Type::path:
    case Type::input_path:
        return "path";
    default:
        return "unit";
    }
}

/// The value that a fresh set of options has; false when there is none.
bool default_of(const Key& key, std::string& text) {
    if (!key.has_field() && key.fallback == nullptr)
        return false;
    text = Settings().get(key.name);
    return true;
}

constexpr const char* head = "# Every key of a Graft deck. A deck is YAML: 'mac.theta' is written as\n"
                             "#     mac:\n"
                             "#       theta: 0.5\n"
                             "# or as 'mac.theta: 0.5'. A key that is absent has its default; 'live': a\n"
                             "# context takes a new value between calls (context_set). The section "
                             "run is read by `graft run` (and any\n"
                             "# host that wants it); the section host takes any keys, which Graft keeps for "
                             "the host program and never reads.\n";

} // namespace

std::string explain_text(bool with_study) {
    std::string text = head;
    for (const Key& key : schema()) {
        if (key.for_papers() && !with_study)
            continue;
        std::string value;
        const bool has_default = default_of(key, value);
        text += core::format("\n%s\n    %s\n    %s; %s%s%s%s%s%s\n", key.name, key.meaning,
                             allowed_values(key).c_str(), has_default ? "default " : "no default",
                             value.c_str(), *key.unit ? " [" : "", key.unit, *key.unit ? "]" : "",
                             key.is_live() ? "; live" : "");
    }
    return text + "\nhost.*\n    anything the host program wants to find in the deck, read with options_get\n"
                  "    any text, at any depth; no default\n";
}

std::string explain_json(bool with_study) {
    std::string json = "[";
    for (const Key& key : schema()) {
        if (key.for_papers() && !with_study)
            continue;
        std::string value;
        const bool has_default = default_of(key, value);
        json += json.size() > 1 ? ",\n " : "\n ";
        json += "{\"key\": " + json_string(key.name) +
                ", \"type\": " + json_string(type_word(key.takes.type)) +
                ", \"default\": " + (has_default ? json_string(value) : "null") +
                ", \"unit\": " + json_string(key.unit) + ", \"live\": " + (key.is_live() ? "true" : "false") +
                ", \"shared\": " + (key.is_shared() ? "true" : "false") +
                ", \"study\": " + (key.for_papers() ? "true" : "false") +
                ", \"allowed\": " + json_string(allowed_values(key)) +
                ", \"meaning\": " + json_string(key.meaning) + "}";
    }
    return json +
           ",\n {\"key\": \"host.*\", \"type\": \"any\", \"default\": null, \"unit\": \"\", \"live\": false, "
           "\"shared\": false, \"study\": false, \"allowed\": "
           "\"any text, at any depth\", \"meaning\": \"kept for the host program\"}\n]\n";
}

} // namespace graft::plugin
