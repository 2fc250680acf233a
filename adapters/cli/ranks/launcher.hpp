// SPDX-License-Identifier: BSD-3-Clause
// How this process was started: by whose mpiexec, told by the environment variables that each leaves.
#pragma once

#include <string>
#include <vector>

namespace graft::cli {

/// "mpich", "openmpi", or "" for a process on its own. `choice` is the value of --mpi: auto, none, mpich,
/// openmpi; throws UsageError for anything else.
std::string mpi_family(const std::string& choice);

/// The rank that the environment tells (before MPI is started); 0 when it tells none.
int rank_by_environment();

/// Takes --mpi VALUE (or --mpi=VALUE) out of a command line; "auto" when it is not there.
std::string take_mpi_choice(std::vector<std::string>& words);

} // namespace graft::cli
