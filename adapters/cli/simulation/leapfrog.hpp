// SPDX-License-Identifier: BSD-3-Clause
// Kick-drift-kick leapfrog with a constant step (Verlet 1967; second order, symplectic, time-reversible for
// exact forces). Invariant: between steps positions, velocities and accelerations belong to the same time.
#pragma once

#include "ranks/ranks.hpp"
#include "simulation/state.hpp"

#include <array>

namespace graft::cli {

/// Sums over all particles at one time.
struct Energies {
    double kinetic = 0;
    double potential = 0;
    double virial_ratio = 0; ///< 2 K / |sum m a.x|; 1 in equilibrium
    std::array<double, 3> angular_momentum{};

    double total() const noexcept { return kinetic + potential; }
};

/// Kinetic energy and angular momentum from the particles of all ranks; potential energy and virial from the
/// field, which has those of all ranks already. Collective. O(n).
Energies energies_of(const State& state, Ranks& ranks = Ranks::here());

class Leapfrog {
  public:
    /// `state` and `solver` must outlive this. `own_softening`: use the particles' softening lengths.
    Leapfrog(State& state, Solver& solver, bool own_softening, Ranks& ranks = Ranks::here());

    /// Accelerations (and energies) at the present positions: once before the first step of a new run.
    void begin();
    /// One step; `energies` asks for potential energy and virial at its end.
    void step(bool energies);
    /// Energies at the present positions without touching the state's accelerations.
    Energies measure();

  private:
    void kick(double interval);
    void drift(double interval);

    State& state_;
    Solver& solver_;
    bool own_softening_;
    Ranks& ranks_;
};

} // namespace graft::cli
