// SPDX-License-Identifier: BSD-3-Clause
// Numbers and units as people write them in decks. All functions throw core::Error (DECK_TYPE: not a number,
// word or unit at all; DECK_RANGE: not an allowed one); messages start with what was found, the caller puts
// the key in front.
#pragma once

#include "deck/schema.hpp"

#include <string>
#include <string_view>

namespace graft::plugin {

/// A finite number; Fortran's exponents (1d-3) are understood, and the decimal point is a point in every
/// locale.
double parse_number(std::string_view text);
/// A whole number; "1e6" is one. DECK_TYPE when it has a fraction.
int64_t parse_integer(std::string_view text);
bool parse_boolean(std::string_view text);
/// SI size of "kpc", "0.5 kpc", "1e10Msun" or "1e3*m" for a type of length, mass, time or charge; > 0.
double parse_unit(std::string_view text, Type type);

/// At most 60 characters of the text, control characters replaced: what messages quote.
std::string printable(std::string_view text);
/// Shortest text that reads back as the same number.
std::string number_text(double value);
/// The unit names of a type, comma-separated.
std::string unit_names(Type type);

/// G or Coulomb's constant in units of these SI sizes (charge_c only for Coulomb): the values that
/// graft_units states.
double gravitational_constant(double length_m, double mass_kg, double time_s);
double coulomb_constant(double length_m, double mass_kg, double time_s, double charge_c);

} // namespace graft::plugin
