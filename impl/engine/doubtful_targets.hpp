// SPDX-License-Identifier: BSD-3-Clause
// mac.kind max: targets of which the criterion expected more field than they have.
//
// The error MAC measures a node's error by the field where a group of targets sits. A target of the group whose own field is
// much smaller, because forces on it cancel, is wrong by as much more of it. Such targets are known once the field is: where
// they are few, all pairs are summed for them; where they are many, all is summed again by the fields found.
#pragma once

#include "engine/direct_force.hpp"
#include "engine/rank_ring.hpp"

namespace graft::engine {

class TreeForce;

class DoubtfulTargets {
  public:
    explicit DoubtfulTargets(core::Memory& memory);
    /// Of what the criterion expects, a field must have at least this share.
    static constexpr double least_share = 0.25;

    /// Those of the tree's last field. Throws Error(memory).
    void find(const backend::Executor& executor, const settings::Settings& settings, const TreeForce& tree,
              const particles::Problem& problem, const particles::RawField& field);
    int64_t count() const { return problem_.target_count(); }
    /// Collective. Sums all ranks' sources in double in the place of their field. Cost: count * particles of all ranks.
    /// Throws Error(memory, communication) on all ranks.
    void sum(const backend::Executor& executor, comm::Communicator& comm, const settings::Settings& settings, Ring& ring,
             const particles::Problem& sources, forces::AllWorkspaces& workspaces, particles::RawField& field);

  private:
    core::Buffer<char> small_;
    core::Buffer<int32_t> place_; // in the field
    particles::Problem problem_;  // these targets alone, as points
    particles::RawField field_;
    lists::TargetSet targets_;
};

} // namespace graft::engine
