// SPDX-License-Identifier: BSD-3-Clause
// What a run began with and what it is asked to continue with: a restart with other physics is no
// continuation, so differences are told, key by key.
#pragma once

#include "simulation/state.hpp"

#include <string>
#include <vector>

namespace graft::cli {

/// The deck's keys that forces and steps depend on (not: threads, backend, balance, names of files), and the
/// input file's identity; `input` "": none given.
Origin origin_of(const Deck& deck, const std::string& input);

/// A sentence for each difference: key, old value, new value. A key that the restart file does not have is
/// compared with its default.
std::vector<std::string> changes_since(const Origin& old, const Origin& now, const Deck& defaults);

} // namespace graft::cli
