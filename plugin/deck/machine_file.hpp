// SPDX-License-Identifier: BSD-3-Clause
// Machine files: YAML of a machine's numbers (`graft model ... --machine FILE`, written by `graft model
// calibrate`). Keys, units and ranges are impl/model's; `graft model schema` lists them.
#pragma once

#include "deck/deck_values.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace graft::plugin {

/// All values of the file as (key, text), checked. Throws core::Error DECK_SYNTAX, DECK_KEY (unknown, with
/// the nearest key), DECK_TYPE or DECK_RANGE; messages begin "name:line:column: key '...': ".
std::vector<std::pair<std::string, std::string>> read_machine(std::string_view text, const std::string& name);
/// The same from a file. DECK_FILE when it cannot be read.
std::vector<std::pair<std::string, std::string>> read_machine_file(const std::string& path);

/// The machine file's path by the deck (near_field.machine), else by the environment (GRAFT_MACHINE); "":
/// none.
std::string machine_file_of(const Settings& settings);

} // namespace graft::plugin
