// A simulation between two steps, and the restart file that keeps it bit by bit.
//
// Restart file: "GRAFTRST", version, the numbers of State in native byte order and full precision, FNV-1a
// checksum. Invariant: a state that was written and read continues exactly as one that was not: positions,
// velocities and the accelerations of the last kick are kept, and the time is start_time + step * time_step,
// never a running sum.
#pragma once

#include "command/engine.hpp"
#include "snapshot/snapshot.hpp"

#include <string>

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

/// Writes the restart file atomically. Throws Error.
void write_restart(const State& state, const std::string& path);

/// Reads it back. Throws Error: missing, not a restart file, of another version, truncated or damaged.
State read_restart(const std::string& path);

} // namespace graft::cli
