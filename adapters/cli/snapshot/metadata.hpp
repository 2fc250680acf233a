// SPDX-License-Identifier: BSD-3-Clause
// Snapshot-wide facts as (key, text) pairs, which is how CSV and HDF5 keep them.
#pragma once

#include "snapshot/snapshot.hpp"

#include <string>
#include <utility>
#include <vector>

namespace graft::cli {

/// The shortest decimal text that reads back to the same double.
std::string number_text(double value);

/// Time, box size, suggestions, units and attributes as text, in a fixed order.
std::vector<std::pair<std::string, std::string>> metadata_of(const Snapshot& snapshot);

/// Stores one pair; an unknown key becomes an attribute. Throws Error when a number is none.
void set_metadata(Snapshot& snapshot, const std::string& key, const std::string& value,
                  const std::string& where);

} // namespace graft::cli
