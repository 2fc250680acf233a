// SPDX-License-Identifier: BSD-3-Clause
// One run from a plan: start or continue, step, log, write, and end at the last step or at a signal. On many
// ranks each holds a part of space and its particles; rank 0 reads and writes for all.
#pragma once

#include "simulation/blocks.hpp"
#include "simulation/energy_log.hpp"
#include "simulation/plan.hpp"
#include "snapshot/file_io.hpp"

#include <memory>

namespace graft::cli {

/// How a run ended.
struct RunSummary {
    std::int64_t steps_taken = 0;
    std::int64_t step = 0;
    std::size_t n = 0;
    double time = 0;
    double wall_s = 0;
    double max_energy_error = 0; ///< largest |dE/E| of the log lines of this run, the last state included
    double energy_error = 0;     ///< dE/E at the end
    double virial_ratio = 0;
    int signal = 0; ///< the signal that ended it, or 0
    std::string last_snapshot;
};

class Simulation {
  public:
    /// Reads input or restart file; checks units, steps and softening. Collective, as run(). Throws Error.
    Simulation(const Deck& deck, const Plan& plan, Ranks& ranks);

    /// Steps until the plan's last step or a signal. Throws Error.
    RunSummary run();

    const State& state() const noexcept { return state_; }

  private:
    void claim_outputs();
    void read_input();
    void read_new();
    void start_new();
    void continue_old();
    void take_changes(const std::vector<std::string>& changes);
    int signal();
    void after_step(RunSummary& summary);
    void write_snapshot(RunSummary& summary);
    void finish(RunSummary& summary);
    bool energies_due(std::int64_t step) const;
    void log(const Energies& energies, RunSummary& summary);

    const Deck& deck_;
    Plan plan_;
    Ranks& ranks_;
    Blocks blocks_;
    std::unique_ptr<FileLock> lock_; // on rank 0, as origin_
    Origin origin_;
    State state_;
    bool own_softening_ = false;
    bool begins_anew_ =
        false; ///< accelerations and the energy to compare with are those of the first step to come
    std::unique_ptr<Solver> solver_;
    std::unique_ptr<Leapfrog> leapfrog_;
    std::unique_ptr<EnergyLog> energy_log_;
    std::int64_t balance_every_ = 0;
    std::int64_t last_written_ = -1;
    std::int64_t last_logged_ = -1;
};

} // namespace graft::cli
