// SPDX-License-Identifier: BSD-3-Clause
// What a key takes, in the words of settings/keys.inc.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>

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
    const char* word = nullptr;
    int32_t value = 0;
};

struct Range {
    double minimum = -std::numeric_limits<double>::infinity();
    double maximum = std::numeric_limits<double>::infinity();
    bool minimum_open = false; // the end itself is not allowed
    bool maximum_open = false;
};

constexpr double largest_count = 9007199254740992.0; // whole numbers that a double holds exactly
constexpr double largest_whole = std::numeric_limits<int32_t>::max();

struct Takes {
    Type type;
    Range range = {};
    std::array<Choice, 8> choices = {};
    size_t words = 0; // of the choices

    constexpr std::span<const Choice> list() const { return {choices.data(), words}; }
};

template <typename Value>
constexpr Choice word(const char* text, Value value) {
    return {text, static_cast<int32_t>(value)};
}
template <typename... Words>
constexpr Takes one_of(Words... words) {
    return {Type::choice, {}, {words...}, sizeof...(words)};
}
constexpr Takes whole(double least, double most) {
    return {Type::integer, {least, most}};
}
constexpr Takes number(double least, double most) {
    return {Type::real, {least, most}};
}
/// Without the ends.
constexpr Takes between(double least, double most) {
    return {Type::real, {least, most, true, true}};
}
constexpr Takes above(double least) {
    return {Type::real, {least, std::numeric_limits<double>::infinity(), true, true}};
}
constexpr Takes at_least(double least) {
    return {Type::real, {least, std::numeric_limits<double>::infinity(), false, true}};
}
constexpr Takes any_number() {
    return {Type::real,
            {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(), true, true}};
}
/// So many of something, too many for whole(): bytes.
constexpr Takes counted() {
    return number(0, largest_count);
}
constexpr Takes truth() {
    return {Type::boolean};
}
constexpr Takes file() {
    return {Type::path};
}
constexpr Takes existing_file() {
    return {Type::input_path};
}
constexpr Takes unit_of(Type type) {
    return {type};
}

} // namespace graft::plugin
