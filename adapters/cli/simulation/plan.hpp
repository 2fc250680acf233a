// SPDX-License-Identifier: BSD-3-Clause
// What `graft run` is to do: the run section of the deck, checked as a whole, and the names of the files it
// writes.
#pragma once

#include "command/engine.hpp"

#include <string>
#include <vector>

namespace graft::cli {

struct Plan {
    std::string input;     ///< snapshot to start from
    std::string prefix;    ///< output files begin with this
    std::string extension; ///< of snapshots: ".hdf5"
    double time_step = 0;
    std::int64_t steps = 0;          ///< step at which the run ends, counted from the input
    std::int64_t snapshot_every = 0; ///< 0: first and last only
    std::int64_t energy_every = 0;   ///< 0: never
    bool restart = false;
    bool with_changes = false; ///< a restart may have other keys and another input
    bool progress = true;

    /// prefix_000100.hdf5
    std::string snapshot_path(std::int64_t step) const;
    std::string energy_path() const { return prefix + "_energy.csv"; }
    std::string restart_path() const { return prefix + ".restart"; }
    std::string lock_path() const { return prefix + ".lock"; }
};

/// Reads and checks the run keys. Throws Error that names the key that is missing or impossible.
Plan read_plan(const Deck& deck);

/// Throws Error when a file that the run may write is one that it reads, whatever its name: no run destroys
/// what it began from.
void require_outputs_apart(const Plan& plan, const std::vector<std::string>& inputs);

/// Whether the particles' own softening lengths are used: they have some, softening.kind is not none, and the
/// deck gives no length of its own.
bool uses_own_softening(const Deck& deck, const Snapshot& particles);

/// Throws Error when the input states a gravitational constant that is not the deck's.
void require_same_constant(const Deck& deck, const Snapshot& particles, const std::string& where);

} // namespace graft::cli
