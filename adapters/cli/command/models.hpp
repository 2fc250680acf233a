// SPDX-License-Identifier: BSD-3-Clause
// Initial conditions by name, for `graft ic` and `graft check`.
#pragma once

#include "snapshot/snapshot.hpp"

#include <map>
#include <string>

namespace graft::cli {

struct ModelRequest {
    std::string kind; ///< "plummer"
    std::size_t n = 10000;
    std::uint64_t seed = 42;
    std::map<std::string, std::string> parameters; ///< by name; see model_help()
    std::string table;                             ///< orbits and belt: CSV of orbital elements
};

/// "plummer, hernquist, ..."
std::string model_names();

/// One paragraph a model: what it is, its parameters with defaults.
std::string model_help();

/// Makes it. Throws Error for an unknown kind or parameter, or a value out of range.
Snapshot make_model(const ModelRequest& request);

} // namespace graft::cli
