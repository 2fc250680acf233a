// SPDX-License-Identifier: BSD-3-Clause
// Decks: YAML files of settings. Reading is all or nothing.
#pragma once

#include "deck/deck_values.hpp"

#include <string>
#include <string_view>

namespace graft::plugin {

/// Sets every key of the deck. `name` stands for the file in messages, which begin "name:line:column: key
/// '...': ". Throws core::Error DECK_SYNTAX, DECK_KEY, DECK_TYPE, DECK_RANGE or DECK_FILE; the settings are
/// unchanged then.
void read_deck(Settings& settings, std::string_view text, const std::string& name);
/// The same from a file. DECK_FILE when it cannot be read.
void read_deck_file(Settings& settings, const std::string& path);

/// Every key with type, default, unit, allowed values, meaning and whether it is live: for a person, or as a JSON array;
/// with the studies' keys, or without.
std::string explain_text(bool with_study);
std::string explain_json(bool with_study);
std::string explain_schema(bool with_study); // json_schema.cpp

} // namespace graft::plugin
