// SPDX-License-Identifier: BSD-3-Clause
// What `graft selftest` looks at: small systems whose forces are known on paper, by plain sums, or by another of Graft's methods.
#pragma once

#include "command/engine.hpp"
#include "snapshot/error.hpp"

#include <span>

namespace graft::cli {

/// Something that a check needs is not here: no failure by itself.
class NotHere : public Error {
  public:
    using Error::Error;
};

struct SelfCheck {
    const char* name;
    const char* kind; ///< cpu, mpi or gpu
    /// Tells what it found, in few words. Throws Error where that is wrong, and NotHere.
    std::string (*run)(const Engine& engine);
};

/// All, in order; among ranks that an mpiexec has started, those that make sense there, which are collective.
std::span<const SelfCheck> self_checks(bool among_ranks);

} // namespace graft::cli
