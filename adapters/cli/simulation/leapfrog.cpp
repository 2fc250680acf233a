// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/leapfrog.hpp"

#include <cmath>

namespace graft::cli {

namespace {

void add_scaled(std::vector<double>& to, const std::vector<double>& rate, double interval) {
    for (std::size_t i = 0; i < to.size(); ++i) {
        to[i] += rate[i] * interval;
    }
}

} // namespace

Energies energies_of(const State& state, Ranks& ranks) {
    const Snapshot& p = state.particles;
    Energies sums;
    for (std::size_t i = 0; i < p.size(); ++i) {
        sums.kinetic += 0.5 * p.mass[i] * (p.vx[i] * p.vx[i] + p.vy[i] * p.vy[i] + p.vz[i] * p.vz[i]);
        sums.angular_momentum[0] += p.mass[i] * (p.y[i] * p.vz[i] - p.z[i] * p.vy[i]);
        sums.angular_momentum[1] += p.mass[i] * (p.z[i] * p.vx[i] - p.x[i] * p.vz[i]);
        sums.angular_momentum[2] += p.mass[i] * (p.x[i] * p.vy[i] - p.y[i] * p.vx[i]);
    }
    std::array<double, 4> all = {sums.kinetic, sums.angular_momentum[0], sums.angular_momentum[1],
                                 sums.angular_momentum[2]};
    ranks.sum(all);
    sums.kinetic = all[0];
    sums.angular_momentum = {all[1], all[2], all[3]};
    sums.potential = state.field.potential_energy;
    sums.virial_ratio = 2 * sums.kinetic / std::abs(state.field.virial);
    return sums;
}

Leapfrog::Leapfrog(State& state, Solver& solver, bool own_softening, Ranks& ranks)
    : state_(state), solver_(solver), own_softening_(own_softening), ranks_(ranks) {}

void Leapfrog::begin() {
    solver_.compute(state_.particles, state_.field, true, own_softening_);
}

void Leapfrog::step(bool energies) {
    kick(0.5 * state_.time_step);
    drift(state_.time_step);
    solver_.compute(state_.particles, state_.field, energies, own_softening_);
    kick(0.5 * state_.time_step);
    ++state_.step;
    state_.particles.time = state_.start_time + static_cast<double>(state_.step) * state_.time_step;
}

Energies Leapfrog::measure() {
    // A call that asks for energies may round accelerations differently; the state keeps those of its step.
    Field kept = state_.field;
    solver_.compute(state_.particles, state_.field, true, own_softening_);
    const Energies sums = energies_of(state_, ranks_);
    state_.field = std::move(kept);
    return sums;
}

void Leapfrog::kick(double interval) {
    Snapshot& p = state_.particles;
    add_scaled(p.vx, state_.field.ax, interval);
    add_scaled(p.vy, state_.field.ay, interval);
    add_scaled(p.vz, state_.field.az, interval);
}

void Leapfrog::drift(double interval) {
    Snapshot& p = state_.particles;
    add_scaled(p.x, p.vx, interval);
    add_scaled(p.y, p.vy, interval);
    add_scaled(p.z, p.vz, interval);
}

} // namespace graft::cli
