// SPDX-License-Identifier: BSD-3-Clause
// A simulation between two steps, and the restart file that keeps it bit by bit.
//
// Restart file: "GRAFTRST", byte order, version, the numbers of State in native byte order and full precision,
// from version 2 on what the run began from (Origin), FNV-1a checksum. Invariant: a state that was written and read continues
// exactly as one that was not: positions, velocities and the accelerations of the last kick are kept, and the time is
// start_time + step * time_step, never a running sum.
#pragma once

#include "command/engine.hpp"
#include "snapshot/file_io.hpp"
#include "snapshot/snapshot.hpp"

#include <string>
#include <utility>
#include <vector>

namespace graft::cli {

struct State {
    Snapshot particles; ///< particles.time is the time at `step`
    Field field;        ///< accelerations at the present positions
    std::int64_t step = 0;
    double start_time = 0;
    double time_step = 0;
    double initial_energy = 0; ///< total energy at step 0

    /// Of each particle in the input; what a rank needs to give its share back (simulation/blocks.hpp).
    std::vector<std::int64_t> place;
};

/// The state as bytes, and back: what travels between the ranks of a run.
std::vector<std::byte> pack(const State& state);
State unpack(const std::vector<std::byte>& bytes);

/// What the numbers of a run depend on: who continues it compares.
struct Origin {
    std::vector<std::pair<std::string, std::string>> keys; ///< deck keys and values
    FileIdentity input;                                    ///< bytes 0: not known
    std::int64_t version = 0;                              ///< of the restart file that it was read from
};

struct Restart {
    State state;
    Origin origin; ///< version 1 has none
};

/// Writes the restart file atomically. Throws Error.
void write_restart(const State& state, const Origin& origin, const std::string& path);

/// Reads it back. Throws Error: missing, not a restart file, of another machine, of a version that is not 1 or
/// 2, truncated or damaged.
Restart read_restart(const std::string& path);

} // namespace graft::cli
