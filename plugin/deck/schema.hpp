// SPDX-License-Identifier: BSD-3-Clause
// Every deck key: what it is called, what it takes, what it means. Setting, getting, reading YAML,
// explaining, checking and the suggestions of nearest keys are all driven by this table, which is made from the
// list of options (settings/keys.inc).
#pragma once

#include "deck/takes.hpp"
#include "option_values.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace graft::plugin {

/// One key. Those with a field of capi::Options get and set it, as a number, and have its default; the others are kept as
/// text for the host, and `fallback` is their default (nullptr: none).
struct Key {
    const char* name;
    Takes takes;
    const char* unit; // "" where a value has none
    const char* meaning;
    int traits; // settings::Trait
    double (*get)(const capi::Options&) = nullptr;
    void (*set)(capi::Options&, double) = nullptr;
    const char* fallback = nullptr;

    bool has_field() const { return get != nullptr; }
    bool is_live() const;   // a living context takes a new value
    bool for_papers() const;  // a parameter of papers
    bool is_shared() const; // the same on all ranks
};

/// All keys, section by section (key_table.cpp).
std::span<const Key> schema();
/// The key of this name, nullptr when there is none.
const Key* find_key(std::string_view name);
/// Whether some key lies inside this section ("mac"), or it is the free section of the host.
bool is_section(std::string_view name);
/// Whether the name is the host's own ("host" or below): any key is allowed there.
bool is_host(std::string_view name);
/// Names inside a section ("" = top level), as "mac.type, mac.theta"; at the top level sections without
/// their keys, and not the studies'.
std::string allowed_in(std::string_view section);
/// Comma-separated words of a choice.
std::string choice_words(const Key& key);
/// What the key takes, for messages and explanations: "a number in [0, 2]", "one of: octree, orb".
std::string allowed_values(const Key& key);

/// The candidate with the smallest edit distance to `name`; "" when none is near (more than half of it
/// differs).
std::string nearest(std::string_view name, const std::vector<std::string_view>& candidates);
/// The nearest key or section to a dotted name.
std::string nearest_key(std::string_view name);

} // namespace graft::plugin
