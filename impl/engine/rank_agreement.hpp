// SPDX-License-Identifier: BSD-3-Clause
// What the ranks must know of each other before a computation, and what is measured of them after it. Collective
// functions.
#pragma once

#include "engine/request.hpp"

namespace graft::engine {

/// Of charges: the sum of |q|, and the least that is not 0; 0: there is none.
struct ChargeSizes {
    double magnitude = 0, lightest = 0;
};

/// What all ranks together have and want.
struct Agreement {
    int64_t particles = 0;
    ChargeSizes charges;         // lightest: down to a factor of two
    bool with_potential = false; // some rank wants potentials or the energy
    bool with_sums = false;      // some rank wants the virial or the energy
    bool per_particle_softening = false;
    bool with_virial = false;    // some rank wants the virial
};

/// `own`: of this rank. Throws on all ranks: Error(call_order) where some compute and others do field_at,
/// Error(argument) where settings differ, Error(unsupported) for what a periodic box does not have.
Agreement agree(comm::Communicator& comm, const settings::Settings& settings, const Request& request,
                const ChargeSizes& own);

/// The first particle of the lowest rank that has any; (0, 0, 0) when none has. own: this rank's first, NULL: none.
void find_origin(comm::Communicator& comm, const double* own, double (&origin)[3]);

/// Fills report.ranks; before: the traffic when the computation began.
void measure_ranks(comm::Communicator& comm, const settings::Settings& settings, const comm::Traffic& before,
                   Report& report);

} // namespace graft::engine
