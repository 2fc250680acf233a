// SPDX-License-Identifier: BSD-3-Clause
// See doubtful_targets.hpp.
#include "engine/doubtful_targets.hpp"

#include "core/timer.hpp"
#include "engine/engine_cpu.hpp"
#include "engine/tree_force.hpp"
#include "essential/forest.hpp"

namespace graft::engine {

DoubtfulTargets::DoubtfulTargets(core::Memory& memory)
    : small_(memory, "marks of small fields"), place_(memory, "targets of small fields"), problem_(memory), field_(memory),
      targets_(memory) {
    problem_.points = true;
    problem_.all_targets = false;
}

void DoubtfulTargets::find(const backend::Executor& executor, const settings::Settings& settings, const TreeForce& tree,
                           const particles::Problem& problem, const particles::RawField& field) {
    const int64_t n = field.ax.size();
    small_.resize(n);
    place_.resize(0);
    tree.find_small(executor, settings, least_share, field, small_.data());
    for (int64_t k = 0; k < n; ++k)
        if (small_[k] != 0)
            place_.push_back(static_cast<int32_t>(k));
    const int64_t count = place_.size();
    const core::Buffer<double>* const at[3] = {problem.points ? &problem.point_x : &problem.x,
                                               problem.points ? &problem.point_y : &problem.y,
                                               problem.points ? &problem.point_z : &problem.z};
    const core::Buffer<double>& length = problem.points ? problem.target_softening : problem.softening;
    for (core::Buffer<double>* values : {&problem_.point_x, &problem_.point_y, &problem_.point_z})
        values->resize(count);
    problem_.target_softening.resize(length.empty() ? 0 : count);
    problem_.per_particle_softening = problem.per_particle_softening;
    for (int64_t k = 0; k < count; ++k) {
        const int32_t item = tree.items()[place_[k]];
        problem_.point_x[k] = (*at[0])[item];
        problem_.point_y[k] = (*at[1])[item];
        problem_.point_z[k] = (*at[2])[item];
        if (!length.empty())
            problem_.target_softening[k] = length[item];
    }
}

void DoubtfulTargets::sum(const backend::Executor& executor, comm::Communicator& comm, const settings::Settings& given,
                          Ring& ring, const particles::Problem& sources, forces::AllWorkspaces& workspaces,
                          particles::RawField& field) {
    settings::Settings settings = given;
    settings.precision = settings::Precision::fp64;
    const bool with_potential = !field.potential.empty();
    comm.together([&] {
        field_.resize(count(), with_potential);
        set_direct_targets(executor, settings, problem_, targets_);
    });
    ring.run(comm, own_sources(sources), sources.per_particle_softening, [&](const Sources& from, bool add) {
        evaluate_direct(executor, settings, problem_, from, with_potential, add, targets_, workspaces, field_);
    });
    for (int64_t k = 0; k < count(); ++k) {
        field.ax[place_[k]] = field_.ax[k];
        field.ay[place_[k]] = field_.ay[k];
        field.az[place_[k]] = field_.az[k];
        if (with_potential)
            field.potential[place_[k]] = field_.potential[k];
    }
}

/// Collective, of the field that the tree has with these settings: that no force is wrong by more than mac.accuracy asks.
void CpuEngine::bound_largest(CpuComputation& c, settings::Settings settings) {
    const double all = static_cast<double>(c.all.particles);
    c.comm.together([&] {
        if (!doubtful_)
            doubtful_ = std::make_unique<DoubtfulTargets>(memory_);
    });
    for (bool first = true;; first = false) {
        c.comm.together([&] { doubtful_->find(c.executor, settings, *tree_force_, problem_, field_); });
        const bool of_all = problem_.all_targets && !problem_.points;
        double sums[] = {static_cast<double>(doubtful_->count()),
                         c.report.pairs + c.report.cells * static_cast<double>(essential::direct_count(settings)),
                         of_all ? 0.0 : 1.0};
        c.comm.allreduce(sums, 3, comm::Operation::sum);
        if (sums[0] == 0)
            return;
        if (!first || sums[0] * all <= sums[1] || sums[2] > 0) { // the fields of all are known, or they are not
            sum_doubtful(c, sums[0]);
            return;
        }
        settings.mac_history = true;
        c.comm.together([&] { remember(c, settings); });
        evaluate_own_tree(c, settings);
    }
}

/// Collective. `count`: of all ranks.
void CpuEngine::sum_doubtful(CpuComputation& c, double count) {
    const core::Timer timer;
    const double all = static_cast<double>(c.all.particles);
    if (c.comm.rank() == 0 && c.environment.log.wants(core::LogLevel::info))
        c.environment.log.write(
            core::LogLevel::info,
            core::format("mac.kind max: %.0f fields are much smaller than those around: all pairs are summed, %.3g", count,
                         count * all));
    doubtful_->sum(c.executor, c.comm, c.settings, ring_, problem_, workspaces_, field_);
    c.report.pairs += static_cast<double>(doubtful_->count()) * all;
    c.report.time_s.forces += timer.seconds();
}

} // namespace graft::engine
