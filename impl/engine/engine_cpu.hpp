// SPDX-License-Identifier: BSD-3-Clause
// The CPU's engine: one computation from the host's arrays to the host's arrays, in steps.
//
// The engine owns the arrays of its steps and keeps them between calls, so that a second call of the same size
// allocates nothing. What the steps of one computation tell each other stands in CpuComputation. Results are the same
// bits for any number of threads.
#pragma once

#include "backend/executor.hpp"
#include "core/buffer.hpp"
#include "engine/backend_choice.hpp"
#include "engine/direct_force.hpp"
#include "engine/rank_agreement.hpp"
#include "engine/rank_ring.hpp"
#include "engine/write_results.hpp"
#include "essential/global_tree.hpp"
#include "forces/workspace.hpp"
#include "lists/targets.hpp"
#include "particles/problem.hpp"

#include <memory>
#include <string>

namespace graft::periodic {
class PeriodicSum;
}

namespace graft::engine {

class CpuRanks;
class DoubtfulTargets;
class TreeForce;

/// The order in which a field's targets stand: all particles or points as they were given, the listed particles, or
/// as the tree has them.
enum class FieldOrder { given, listed, tree };

/// What the steps of one computation share.
struct CpuComputation {
    const Environment& environment;
    settings::Settings settings; // of the sum that is taken: refine()
    const Request& request;
    const backend::Executor& executor;
    comm::Communicator& comm;
    Report& report;
    Agreement all{};                      // from agree() on
    FieldOrder order = FieldOrder::given; // from evaluate() on, as the totals
    Totals totals{};
};

class CpuEngine {
  public:
    explicit CpuEngine(core::Memory& memory);
    ~CpuEngine();

    /// Collective: all of it. Throws core::Error, the same on all ranks; outputs are then untouched.
    void compute(const Environment& environment, const Request& request, const Placement& placement);
    /// work[i] as Solver::work_of_particles, of the last compute().
    void work_of_particles(const comm::Communicator& comm, const settings::Settings& settings,
                           double* work) const;
    /// Gives memory back that is kept for the next call; the last field that the error MAC looks at stays.
    void release();
    /// The error MAC of the next call is not to look at this engine's last field.
    void forget_field() { problem_.last.resize(0); }

  private:
    friend class CpuRanks; // takes the steps of a computation one by one
    // import_inputs.cpp
    void import(const CpuComputation& c);
    void import_sources(const CpuComputation& c);
    void import_targets(const ParticleInput& input);
    void list_targets(const ParticleInput& input);
    void scale_sources(const CpuComputation& c, double scale);
    void gather_targets(const backend::Executor& executor);
    // engine_cpu.cpp
    /// Where other ranks have GPUs.
    void compute_beside_gpus(CpuComputation& c, const Placement& placement);
    void serve_lightest(CpuComputation& c);
    void evaluate(CpuComputation& c);
    void sum_field(CpuComputation& c, int round);
    void evaluate_tree(CpuComputation& c);
    void evaluate_own_tree(CpuComputation& c, const settings::Settings& settings);
    void evaluate_global_tree(CpuComputation& c, const settings::Settings& settings);
    void bound_largest(CpuComputation& c, settings::Settings settings); // doubtful_targets.cpp
    void evaluate_pairs(const CpuComputation& c);
    void sum_doubtful(CpuComputation& c, double count);
    void remember(const CpuComputation& c, const settings::Settings& settings);
    void remove_self_potential(const CpuComputation& c);
    const int32_t* items(FieldOrder order) const;
    FieldView view(const CpuComputation& c) const { return {problem_, field_, items(c.order)}; }
    void finish_report(const CpuComputation& c) const;
    // solver_periodic.cpp
    void wrap(const CpuComputation& c, core::Buffer<double>* const (&axes)[3]);
    void begin_periodic(const CpuComputation& c, int round);
    bool refine(CpuComputation& c, int round);
    void tell_of_small_fields(const CpuComputation& c, double size, bool again);
    void evaluate_periodic_reference(const CpuComputation& c);
    void finish_periodic(CpuComputation& c);
    void sum_totals(CpuComputation& c);

    core::Memory& memory_;
    particles::Problem problem_;
    particles::RawField field_;
    particles::RawField scratch_; // reference method over ranks
    essential::GlobalTree global_tree_;
    particles::Problem spread_; // global tree: this rank's share of all particles
    particles::RawField spread_field_;
    core::Buffer<double> work_, spread_work_; // global tree: of the own particles, of the share
    core::Buffer<char> seen_;
    core::Buffer<double> sums_;
    lists::TargetSet direct_targets_; // direct method: the targets in compact blocks
    forces::AllWorkspaces workspaces_;
    std::unique_ptr<TreeForce> tree_force_;
    std::unique_ptr<DoubtfulTargets> doubtful_;
    Ring ring_;
    std::unique_ptr<CpuRanks> ranks_; // beside ranks with GPUs
    std::shared_ptr<periodic::PeriodicSum> periodic_;
    std::string said_of_again_, said_of_small_fields_;
    ChargeSizes charges_;       // of this rank
    int64_t all_particles_ = 0; // of all ranks, in the last computation
};

} // namespace graft::engine
