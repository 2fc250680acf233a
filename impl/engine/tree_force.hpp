// SPDX-License-Identifier: BSD-3-Clause
// The tree method, step by step: build, moments, targets, criterion, lists, evaluation.
#pragma once

#include "backend/executor.hpp"
#include "comm/communicator.hpp"
#include "core/log.hpp"
#include "particles/problem.hpp"
#include "engine/report.hpp"
#include "settings/settings.hpp"
#include "forces/workspace.hpp"

#include <memory>

namespace graft::engine {

class TreeForce {
  public:
    explicit TreeForce(core::Memory& memory);
    ~TreeForce();

    /// Collective. Fills `field` in the order of items(). Adds times and counts to the report. Throws core::Error, the
    /// same on all ranks.
    void evaluate(const backend::Executor& executor, comm::Communicator& comm,
                  const settings::Settings& settings, const particles::Problem& problem, bool with_potential,
                  forces::AllWorkspaces& workspaces, particles::RawField& field, Report& report, const core::Log& log);

    /// Target k of the last evaluate() -> the host's item.
    const int32_t* items() const;

    /// small[k] = 1 for target k of the last evaluate() whose field is less than `share` of what the lists of its group were made
    /// for with these settings (criterion error), 0 for the others.
    void find_small(const backend::Executor& executor, const settings::Settings& settings, double share,
                    const particles::RawField& field, char* small) const;

    /// work[i] += the interactions of the last evaluate() for host item i, an expansion counting as
    /// expansion_pairs; targets only.
    void add_work(double expansion_pairs, double* work) const;

    /// The steps by themselves, for a conductor of ranks: tree_state.hpp.
    struct State;
    State& state() { return *state_; }

  private:
    std::unique_ptr<State> state_;
};

} // namespace graft::engine
