// SPDX-License-Identifier: BSD-3-Clause
// How much work each particle was in the last computation: Solver::work_of_particles.
#include "engine/engine_cpu.hpp"
#include "engine/tree_force.hpp"
#include "engine/tree_state.hpp"
#include "essential/forest.hpp"
#include "forces/m2l/m2l_choice.hpp"

#include <algorithm>

namespace graft::engine {

/// All targets of a group meet the same sources.
void TreeForce::add_work(double expansion_pairs, double* work) const {
    const lists::TargetSet& targets = state_->targets;
    for (int64_t g = 0; g < targets.group_count(); ++g) {
        const lists::Group& group = targets.groups()[g];
        const double share =
            (static_cast<double>(state_->pairs[g]) +
             expansion_pairs * static_cast<double>(state_->cells[g] + forces::m2l_cells * state_->far[g])) /
            static_cast<double>(group.count);
        for (int64_t k = group.first; k < group.first + group.count; ++k)
            work[targets.origin()[k]] += share;
    }
}

void CpuEngine::work_of_particles(const comm::Communicator& comm, const settings::Settings& settings,
                                  double* work) const {
    std::fill(work, work + problem_.n, 0.0);
    if (all_particles_ == 0)
        return;
    const bool tree = settings.method == settings::Method::tree;
    if (tree && !comm.alone() && settings.tree_scope == settings::TreeScope::global) {
        std::copy(work_.begin(), work_.end(), work); // it came back with the forces
        return;
    }
    if (tree)
        return tree_force_->add_work(static_cast<double>(essential::direct_count(settings)), work);
    for (int64_t k = 0; k < problem_.target_count(); ++k)
        work[problem_.all_targets ? k : problem_.target[k]] += static_cast<double>(all_particles_);
}

} // namespace graft::engine
