#include "simulation/simulation.hpp"

#include "simulation/interrupt.hpp"
#include "simulation/progress.hpp"
#include "snapshot/error.hpp"
#include "snapshot/formats.hpp"
#include "snapshot/metadata.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace graft::cli {

namespace {

/// Without any mass nothing would move by gravity, and every energy would be 0 / 0.
void require_masses(const Snapshot& particles, const std::string& path) {
    const auto& mass = particles.mass;
    if (!mass.empty() && std::all_of(mass.begin(), mass.end(), [](double m) { return m == 0; })) {
        throw Error({"every mass is 0", path, "at least one mass that is not 0", "0 throughout",
                     "a file with masses (CSV: a column named mass)"});
    }
}

} // namespace

Simulation::Simulation(const Deck& deck, const Plan& plan, Ranks& ranks)
    : deck_(deck), plan_(plan), ranks_(ranks), blocks_(ranks) {
    if (ranks_.first()) {
        read_input();
        own_softening_ = uses_own_softening(deck_, state_.particles);
    }
    own_softening_ = ranks_.max(static_cast<std::int64_t>(own_softening_)) != 0;
    blocks_.scatter(state_);
    solver_ = std::make_unique<Solver>(deck_, ranks_);
    if (ranks_.first()) {
        solver_->log_to_stderr();
    }
    blocks_.decompose(state_, *solver_);
    leapfrog_ = std::make_unique<Leapfrog>(state_, *solver_, own_softening_, ranks_);
    balance_every_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(deck_.number("balance.steps")));
}

void Simulation::read_input() {
    if (plan_.restart) {
        continue_old();
    } else {
        state_.particles = read_snapshot_file(plan_.input);
        require_masses(state_.particles, plan_.input);
        state_.start_time = state_.particles.time;
        state_.time_step = plan_.time_step;
    }
    require_same_constant(deck_, state_.particles, plan_.restart ? plan_.restart_path() : plan_.input);
}

void Simulation::continue_old() {
    state_ = read_restart(plan_.restart_path());
    if (state_.time_step != plan_.time_step) {
        throw Error({"the restart file was written with another time step", plan_.restart_path(),
                     "run.time_step: " + number_text(state_.time_step), number_text(plan_.time_step),
                     "start a new run from its last snapshot (run.restart: false) to change the step"});
    }
    if (state_.step >= plan_.steps) {
        throw Error({"nothing left to do", plan_.restart_path(),
                     "run.steps above " + std::to_string(state_.step),
                     "run.steps: " + std::to_string(plan_.steps), "a larger run.steps"});
    }
}

void Simulation::start_new() {
    leapfrog_->begin();
    state_.initial_energy = energies_of(state_, ranks_).total();
}

bool Simulation::energies_due(std::int64_t step) const {
    return plan_.energy_every > 0 && step % plan_.energy_every == 0;
}

void Simulation::log(const Energies& energies, RunSummary& summary) {
    summary.energy_error = relative_energy_error(state_, energies);
    summary.max_energy_error = std::max(summary.max_energy_error, std::abs(summary.energy_error));
    summary.virial_ratio = energies.virial_ratio;
    if (energy_log_ && last_logged_ != state_.step) {
        energy_log_->add(state_, energies);
    }
    last_logged_ = state_.step;
}

void Simulation::write_snapshot(RunSummary& summary) {
    if (last_written_ == state_.step) {
        return;
    }
    summary.last_snapshot = plan_.snapshot_path(state_.step);
    const State whole = blocks_.gather(state_);
    if (ranks_.first()) {
        for (const std::string& loss : write_snapshot_file(whole.particles, summary.last_snapshot)) {
            if (last_written_ < 0) {
                std::fprintf(stderr, "graft run: %s: %s\n", summary.last_snapshot.c_str(), loss.c_str());
            }
        }
        write_restart(whole, plan_.restart_path());
    }
    last_written_ = state_.step;
}

void Simulation::after_step(RunSummary& summary) {
    ++summary.steps_taken;
    if (energies_due(state_.step)) {
        log(energies_of(state_, ranks_), summary);
    }
    if (plan_.snapshot_every > 0 && state_.step % plan_.snapshot_every == 0) {
        write_snapshot(summary);
    }
    if (state_.step % balance_every_ == 0) {
        blocks_.balance(state_, *solver_);
    }
}

int Simulation::signal() {
    return static_cast<int>(ranks_.max(std::int64_t{InterruptGuard::signal_received()}));
}

void Simulation::finish(RunSummary& summary) {
    write_snapshot(summary);
    // Measured apart from the stepping, so that where a run is cut changes nothing that a restart continues
    // from.
    log(leapfrog_->measure(), summary);
    summary.step = state_.step;
    summary.time = state_.particles.time;
    summary.n = static_cast<std::size_t>(ranks_.sum(static_cast<std::int64_t>(state_.particles.size())));
}

RunSummary Simulation::run() {
    const auto start = std::chrono::steady_clock::now();
    RunSummary summary;
    const InterruptGuard interrupts;
    if (!plan_.restart) {
        start_new();
    }
    if (plan_.energy_every > 0 && ranks_.first()) {
        energy_log_ = std::make_unique<EnergyLog>(plan_.energy_path(), plan_.energy_every,
                                                  plan_.restart ? state_.step : -1);
    }
    if (!plan_.restart) {
        log(energies_of(state_, ranks_), summary);
        write_snapshot(summary);
    } else {
        last_written_ = state_.step;
    }
    Progress progress(state_.step, plan_.steps, !plan_.progress || !ranks_.first());
    for (; state_.step < plan_.steps && summary.signal == 0; summary.signal = signal()) {
        leapfrog_->step(energies_due(state_.step + 1));
        after_step(summary);
        char note[48];
        std::snprintf(note, sizeof note, "dE/E %.1e", summary.energy_error);
        progress.report(state_.step, note);
    }
    summary.signal = state_.step < plan_.steps ? summary.signal : 0;
    finish(summary);
    summary.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return summary;
}

} // namespace graft::cli
