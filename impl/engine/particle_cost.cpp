// SPDX-License-Identifier: BSD-3-Clause
// How much work each particle was in the last computation: Solver::work_of_particles.
#include "engine/engine_cpu.hpp"
#include "engine/tree_force.hpp"
#include "engine/tree_state.hpp"
#include "essential/forest.hpp"
#include "forces/m2l/m2l_choice.hpp"
#include "periodic/lattice_kind.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace graft::engine {

/// All targets of a group meet the same sources, and share what the cells above it have met.
void TreeForce::add_work(double expansion_pairs, double* work) const {
    const State& s = *state_;
    const double expansion_cells = expansion_pairs * static_cast<double>(forces::m2l_cells);
    std::vector<std::pair<int32_t, double>> above; // end and share of the cells around
    for (int32_t i = 0; i < static_cast<int32_t>(s.targets.cells().size()); ++i) {
        const lists::TargetCell& cell = s.targets.cells()[i];
        while (!above.empty() && above.back().first <= i)
            above.pop_back();
        double share = expansion_cells * static_cast<double>(s.walk.far[i]);
        if (cell.group >= 0)
            share += static_cast<double>(s.pair_counts[cell.group]) +
                     expansion_pairs * static_cast<double>(s.cell_counts[cell.group]);
        share = share / static_cast<double>(cell.count) + (above.empty() ? 0 : above.back().second);
        above.emplace_back(cell.next, share);
        for (int64_t k = cell.first; cell.group >= 0 && k < cell.first + cell.count; ++k)
            work[s.targets.origin()[k]] += share;
    }
}

void CpuEngine::work_of_particles(const comm::Communicator& comm, const settings::Settings& settings,
                                  double* work) const {
    std::fill(work, work + problem_.n, 0.0);
    if (all_particles_ == 0)
        return;
    const bool tree = settings.method == settings::Method::tree && !periodic::is_long_range(settings);
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
