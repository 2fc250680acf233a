// Every deck key, once: what it is called, what it takes, what it means. Setting, getting, reading YAML,
// explaining, checking and the suggestions of nearest keys are all driven by this table.
#pragma once

#include <graft/types.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace graft::plugin {

enum class Type {
    choice,     // one word of a list
    integer,    // a whole number
    real,       // a finite number
    boolean,    // true or false
    path,       // a file to be written
    input_path, // a file that must exist when the key is set; relative to the process' working directory
    length,     // a unit: "kpc", "0.5 kpc", "1e3*m"
    mass,
    time,
    charge,
};

struct Choice {
    const char* word;
    int32_t value;
};

struct Range {
    double minimum = -std::numeric_limits<double>::infinity();
    double maximum = std::numeric_limits<double>::infinity();
    bool minimum_open = false; // the end itself is not allowed
    bool maximum_open = false;
};

constexpr double largest_count = 9007199254740992.0; // whole numbers that a double holds exactly

/// One key. Engine keys point to their field of graft_options_values, whose default they have; the others are
/// kept as text for the host, and `fallback` is their default (nullptr: none).
struct Key {
    const char* name;
    Type type;
    const char* unit; // "" where a value has none
    const char* meaning;
    Range range = {};
    std::span<const Choice> choices = {};
    int32_t graft_options_values::*integer = nullptr;
    double graft_options_values::*real = nullptr;
    const char* fallback = nullptr;

    bool is_engine() const { return integer != nullptr || real != nullptr; }
};

/// All keys, section by section (deck/keys.cpp).
std::span<const Key> schema();
/// The key of this name, nullptr when there is none.
const Key* find_key(std::string_view name);
/// Whether some key lies inside this section ("mac"), or it is the free section of the host.
bool is_section(std::string_view name);
/// Whether the name is the host's own ("host" or below): any key is allowed there.
bool is_host(std::string_view name);
/// Names inside a section ("" = top level), as "mac.type, mac.theta"; sections are shown as "mac: ...".
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
