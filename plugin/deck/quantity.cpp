// SPDX-License-Identifier: BSD-3-Clause
// Parsing of numbers and units. Solar and terrestrial masses are the IAU 2015 nominal mass parameters GM
// divided by G, so that a year in astronomical units is right to the digits of GM, not of G; au and pc are
// IAU 2012/2015.
#include "deck/quantity.hpp"

#include "guard.hpp"

#include <charconv>
#include <cmath>
#include <numbers>

namespace graft::plugin {

using core::fail;
using core::Status;

namespace {

constexpr double newton = 6.67430e-11;     // m^3 kg^-1 s^-2, CODATA 2018
constexpr double coulomb = 8.9875517923e9; // N m^2 C^-2, CODATA 2018
constexpr double au = 149597870700.0;      // m
constexpr double parsec = 648000.0 / std::numbers::pi * au;
constexpr double day = 86400.0;
constexpr double year = 365.25 * day; // Julian

struct Unit {
    const char* name;
    Type type;
    double size;
};

constexpr Unit units[] = {
    {"m", Type::length, 1},
    {"km", Type::length, 1e3},
    {"cm", Type::length, 1e-2},
    {"AU", Type::length, au},
    {"pc", Type::length, parsec},
    {"kpc", Type::length, 1e3 * parsec},
    {"Mpc", Type::length, 1e6 * parsec},
    {"nm", Type::length, 1e-9},
    {"angstrom", Type::length, 1e-10},
    {"kg", Type::mass, 1},
    {"g", Type::mass, 1e-3},
    {"Msun", Type::mass, 1.3271244e20 / newton},
    {"Mearth", Type::mass, 3.986004e14 / newton},
    {"Da", Type::mass, 1.66053906660e-27},
    {"s", Type::time, 1},
    {"h", Type::time, 3600},
    {"day", Type::time, day},
    {"yr", Type::time, year},
    {"Myr", Type::time, 1e6 * year},
    {"Gyr", Type::time, 1e9 * year},
    {"ps", Type::time, 1e-12},
    {"fs", Type::time, 1e-15},
    {"e", Type::charge, 1.602176634e-19},
    {"C", Type::charge, 1},
};

std::string_view trim(std::string_view text) {
    const size_t first = text.find_first_not_of(" \t");
    const size_t last = text.find_last_not_of(" \t");
    return first == std::string_view::npos ? std::string_view() : text.substr(first, last - first + 1);
}

/// Reads the number that text begins with and moves text behind it; false when there is none.
bool take_number(std::string_view& text, double& value) {
    std::string plain(text.substr(0, 64));
    const size_t sign = plain.starts_with('+') ? 1 : 0;
    if (plain.starts_with("+-"))
        return false;
    const size_t digit = plain.find_first_not_of("+-.");
    if (digit == std::string::npos || plain[digit] < '0' || plain[digit] > '9')
        return false; // keeps out "inf" and "nan", which from_chars would take
    const size_t exponent = plain.find_first_of("dD");
    if (exponent != std::string::npos && exponent + 1 < plain.size() &&
        plain.find_first_not_of("0123456789.+-") == exponent &&
        std::string_view("+-0123456789").find(plain[exponent + 1]) != std::string_view::npos)
        plain[exponent] = 'e';
    const auto [end, error] = std::from_chars(plain.data() + sign, plain.data() + plain.size(), value);
    if (error == std::errc::result_out_of_range)
        fail(Status::deck_range, "'%.40s' does not fit a double-precision number", plain.c_str());
    if (error != std::errc())
        return false;
    text.remove_prefix(static_cast<size_t>(end - plain.data()));
    return true;
}

const char* noun(Type type) {
    switch (type) {
    case Type::length:
        return "length";
    case Type::mass:
        return "mass";
    case Type::time:
        return "time";
    default:
        return "charge";
    }
}

std::vector<std::string_view> names_of(Type type) {
    std::vector<std::string_view> names;
    for (const Unit& unit : units)
        if (unit.type == type)
            names.push_back(unit.name);
    return names;
}

double size_of(std::string_view name, Type type) {
    for (const Unit& unit : units)
        if (unit.type == type && unit.name == name)
            return unit.size;
    const std::string near = nearest(name, names_of(type));
    fail(Status::deck_range, "'%s' is no unit of %s; allowed: %s%s%s", printable(name).c_str(), noun(type),
         unit_names(type).c_str(), near.empty() ? "" : "; nearest: ", near.c_str());
}

} // namespace

std::string printable(std::string_view text) {
    std::string shown;
    for (char c : text.substr(0, 60))
        shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    return text.size() > 60 ? shown + "..." : shown;
}

double parse_number(std::string_view text) {
    std::string_view rest = trim(text);
    double value = 0;
    if (!take_number(rest, value) || !rest.empty())
        fail(Status::deck_type, "'%s' is not a number", printable(text).c_str());
    return value;
}

int64_t parse_integer(std::string_view text) {
    const double value = parse_number(text);
    if (value != std::floor(value))
        fail(Status::deck_type, "'%s' is not a whole number", printable(text).c_str());
    if (std::fabs(value) > 9007199254740992.0)
        fail(Status::deck_range, "'%s' is larger than 2^53", printable(text).c_str());
    return static_cast<int64_t>(value);
}

bool parse_boolean(std::string_view text) {
    for (const char* word : {"true", "yes", "on"})
        if (text == word)
            return true;
    for (const char* word : {"false", "no", "off"})
        if (text == word)
            return false;
    fail(Status::deck_type, "'%s' is neither true nor false", printable(text).c_str());
}

double parse_unit(std::string_view text, Type type) {
    std::string_view rest = trim(text);
    double factor = 1;
    if (take_number(rest, factor)) {
        rest = trim(rest);
        if (rest.starts_with('*'))
            rest = trim(rest.substr(1));
    }
    if (rest.empty())
        fail(Status::deck_type, "'%s' names no unit of %s; allowed: %s", printable(text).c_str(), noun(type),
             unit_names(type).c_str());
    const double size = factor * size_of(rest, type);
    if (!(size > 0) || !std::isfinite(size))
        fail(Status::deck_range, "'%s' is a unit of size %g; expected a size > 0", printable(text).c_str(),
             size);
    return size;
}

std::string number_text(double value) {
    char buffer[64];
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
    return error == std::errc() ? std::string(buffer, end) : std::string();
}

std::string unit_names(Type type) {
    std::string list;
    for (std::string_view name : names_of(type))
        list += (list.empty() ? "" : ", ") + std::string(name);
    return list;
}

double gravitational_constant(double length_m, double mass_kg, double time_s) {
    return newton * (mass_kg / length_m) * (time_s / length_m) * (time_s / length_m);
}

double coulomb_constant(double length_m, double mass_kg, double time_s, double charge_c) {
    return coulomb * (charge_c * charge_c / mass_kg) / length_m * (time_s / length_m) * (time_s / length_m);
}

} // namespace graft::plugin
