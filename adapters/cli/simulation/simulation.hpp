// One run from a plan: start or continue, step, log, write, and end at the last step or at a signal. On many
// ranks each holds a part of space and its particles; rank 0 reads and writes for all.
#pragma once

#include "simulation/blocks.hpp"
#include "simulation/energy_log.hpp"
#include "simulation/plan.hpp"

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
    void read_input();
    void start_new();
    void continue_old();
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
    State state_;
    bool own_softening_ = false;
    std::unique_ptr<Solver> solver_;
    std::unique_ptr<Leapfrog> leapfrog_;
    std::unique_ptr<EnergyLog> energy_log_;
    std::int64_t balance_every_ = 0;
    std::int64_t last_written_ = -1;
    std::int64_t last_logged_ = -1;
};

} // namespace graft::cli
