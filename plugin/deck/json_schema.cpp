// SPDX-License-Identifier: BSD-3-Clause
// The deck's schema in the words of json-schema.org, from which editors complete and check decks.
#include "deck/deck.hpp"

#include "json_string.hpp"

#include <cmath>

namespace graft::plugin {

using capi::json_string;

namespace {

/// An end of a range, as ", "minimum": 0"; nothing where the end is infinite or that of every whole number.
std::string bound(const char* name, const char* open_name, double value, bool open) {
    if (!std::isfinite(value) || std::abs(value) >= largest_whole)
        return "";
    return core::format(", \"%s\": %.17g", open ? open_name : name, value);
}

/// Numbers that older YAML takes for texts: 1e-5, and Fortran's 1d-5.
constexpr const char* number_text = "^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eEdD][-+]?[0-9]+)?$";

/// The words of a choice; older YAML reads on and off as truth values.
std::string words_of(const Key& key) {
    std::string list;
    for (const Choice& choice : key.takes.list()) {
        const std::string_view word = choice.word;
        list += (list.empty() ? "" : ", ") + json_string(word);
        list += word == "on" ? ", true" : word == "off" ? ", false" : "";
    }
    return "\"enum\": [" + list + "]";
}

std::string type_of(const Key& key) {
    const Range& range = key.takes.range;
    switch (key.takes.type) {
    case Type::choice:
        return words_of(key);
    case Type::integer:
    case Type::real:
        return core::format(R"("type": ["%s", "string"], "pattern": "%s")",
                            key.takes.type == Type::integer ? "integer" : "number", number_text) +
               bound("minimum", "exclusiveMinimum", range.minimum, range.minimum_open) +
               bound("maximum", "exclusiveMaximum", range.maximum, range.maximum_open);
    case Type::boolean:
        return "\"type\": \"boolean\"";
    default:
        return "\"type\": \"string\"";
    }
}

std::string property(const Key& key, std::string_view name) {
    const std::string unit = *key.unit != '\0' ? core::format(" [%s]", key.unit) : "";
    return json_string(name) + ": {" + type_of(key) + ", \"description\": " +
           json_string(key.meaning + ("; " + allowed_values(key)) + unit) + "}";
}

} // namespace

/// Keys stand in their sections, as decks have them, or with a dot at the top, where any are let through: what is wrong with
/// them is said by `graft deck --check`.
std::string explain_schema(bool with_study) {
    std::string top, section, inside;
    const auto close = [&] {
        if (!section.empty())
            top += ",\n  " + json_string(section) +
                   ": {\"type\": [\"object\", \"null\"], \"additionalProperties\": false, \"properties\": {\n" + inside + "}}";
        section.clear(), inside.clear();
    };
    for (const Key& key : schema()) {
        if (key.for_papers() && !with_study)
            continue;
        const std::string_view name = key.name;
        const size_t dot = name.find('.');
        if (dot == std::string_view::npos) {
            close();
            top += ",\n  " + property(key, name);
            continue;
        }
        if (name.substr(0, dot) != section)
            close();
        section = name.substr(0, dot);
        inside += (inside.empty() ? "    " : ",\n    ") + property(key, name.substr(dot + 1));
    }
    close();
    return "{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n \"title\": \"Graft deck\", \"type\": \"object\",\n"
           " \"additionalProperties\": false, \"patternProperties\": {\"\\\\.\": {}},\n \"properties\": {\n"
           "  \"host\": {\"description\": \"kept for the host program\"}" +
           top + "}}\n";
}

} // namespace graft::plugin
