// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/simulation.hpp"

#include "simulation/interrupt.hpp"
#include "simulation/origin.hpp"
#include "simulation/progress.hpp"
#include "snapshot/error.hpp"
#include "snapshot/formats.hpp"

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

void say(const std::string& text) {
    std::fprintf(stderr, "graft run: %s\n", text.c_str());
}

} // namespace

Simulation::Simulation(const Deck& deck, const Plan& plan, Ranks& ranks)
    : deck_(deck), plan_(plan), ranks_(ranks), blocks_(ranks) {
    if (ranks_.first()) {
        claim_outputs();
        read_input();
        own_softening_ = uses_own_softening(deck_, state_.particles);
    }
    own_softening_ = ranks_.max(static_cast<std::int64_t>(own_softening_)) != 0;
    begins_anew_ = ranks_.max(static_cast<std::int64_t>(begins_anew_)) != 0;
    blocks_.scatter(state_);
    solver_ = std::make_unique<Solver>(deck_, ranks_);
    blocks_.decompose(state_, *solver_);
    leapfrog_ = std::make_unique<Leapfrog>(state_, *solver_, own_softening_, ranks_);
    balance_every_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(deck_.number("balance.steps")));
}

void Simulation::claim_outputs() {
    lock_ = std::make_unique<FileLock>(plan_.lock_path());
    if (!lock_->works()) {
        say("this file system has no locks: no other run may write " + plan_.prefix + " at the same time");
    }
    for (const std::string& start : {plan_.prefix + "_", plan_.restart_path()}) {
        for (const std::string& path : remove_leftovers(start)) {
            say(path + ": left by a program that was killed, removed");
        }
    }
}

void Simulation::read_input() {
    origin_ = origin_of(deck_, plan_.input);
    if (plan_.restart) {
        continue_old();
    } else {
        read_new();
    }
    require_same_constant(deck_, state_.particles, plan_.restart ? plan_.restart_path() : plan_.input);
}

void Simulation::read_new() {
    state_.particles = read_snapshot_file(plan_.input);
    for (const std::string& name : state_.particles.left_out) {
        say(plan_.input + ": " + name + " is not known here and will not be in what is written");
    }
    require_masses(state_.particles, plan_.input);
    state_.start_time = state_.particles.time;
    state_.time_step = plan_.time_step;
    begins_anew_ = true;
}

void Simulation::continue_old() {
    Restart restart = read_restart(plan_.restart_path());
    state_ = std::move(restart.state);
    if (state_.step >= plan_.steps) {
        throw Error({"nothing left to do", plan_.restart_path(),
                     "run.steps above " + std::to_string(state_.step),
                     "run.steps: " + std::to_string(plan_.steps), "a larger run.steps"});
    }
    take_changes(changes_since(restart.origin, origin_, Deck(deck_.engine())));
    if (origin_.input.bytes == 0) {
        origin_.input = restart.origin.input;
    }
}

void Simulation::take_changes(const std::vector<std::string>& changes) {
    if (changes.empty()) {
        return;
    }
    if (!plan_.with_changes) {
        std::string all;
        for (const std::string& change : changes) {
            all += (all.empty() ? "" : "; ") + change;
        }
        throw Error({"this is not the run that the restart file is of", plan_.restart_path(),
                     "the same physics keys and input", all,
                     "the old values, or --restart-with-changes to go on with the new ones"});
    }
    for (const std::string& change : changes) {
        say("restart with changes: " + change);
    }
    say("the run goes on from step " + std::to_string(state_.step) +
        " with the particles of the restart file; accelerations are computed anew, and energy errors count "
        "from here");
    state_.time_step = plan_.time_step;
    state_.start_time = state_.particles.time - static_cast<double>(state_.step) * state_.time_step;
    begins_anew_ = true;
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
                say(summary.last_snapshot + ": " + loss);
            }
        }
        write_restart(whole, origin_, plan_.restart_path());
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
    if (begins_anew_) {
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
