// SPDX-License-Identifier: BSD-3-Clause
// Comma-separated text with a header line: the format to look at, edit and read with any tool; round trips
// are exact.
//
// Columns, by name and in any order: x, y, z (required); vx, vy, vz, mass (0 when absent); softening; id (the
// row number when absent); component (0 to 5 or gas, halo, disc, bulge, star, boundary; halo when absent);
// name (may be "quoted"). Other columns are an error. Lines "# key = value" before the header hold time,
// box_size, units and free attributes. The first line of a file that was written here has the number of particles, so
// that one that was cut short is told from a whole one.
#pragma once

#include "snapshot/snapshot.hpp"

#include <string>
#include <string_view>

namespace graft::cli {

/// True when the first line that is not a comment is a header line with x, y and z columns.
bool looks_like_csv(std::string_view text) noexcept;

/// Particles of a CSV text. Throws Error with line and column for every flaw. O(length).
Snapshot read_csv(std::string_view text, const std::string& where);

/// The text: shortest decimals that read back to the same doubles (17 digits at most).
std::string encode_csv(const Snapshot& snapshot);

/// One line of CSV cut into fields; quotes are removed, doubled quotes become one. Fields keep inner blanks
/// only.
std::vector<std::string> split_csv_line(std::string_view line);

/// The whole field as a number, or Error that names line and column. Accepts what std::from_chars accepts and
/// "+".
double parse_csv_number(std::string_view field, const std::string& where, std::size_t line,
                        std::string_view column);

} // namespace graft::cli
