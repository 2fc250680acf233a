// One force computation from the host's arrays to the host's arrays: the way of the data through all rooms.
//
// Invariants: outputs are written only after everything has succeeded; all memory comes from the Memory given
// and is kept between calls, so that a second call of the same size allocates nothing; results are the same
// bits for any number of threads.
#pragma once

#include "backend/executor.hpp"
#include "core/buffer.hpp"
#include "core/log.hpp"
#include "core/timer.hpp"
#include "lists/targets.hpp"
#include "particles/array_view.hpp"
#include "pipeline/problem.hpp"
#include "pipeline/report.hpp"
#include "pipeline/settings.hpp"
#include "pipeline/workspace.hpp"

#include <memory>

namespace graft::pipeline {

struct ParticleInput {
    int64_t n = 0;
    particles::ArrayView position[3];
    particles::ArrayView charge; // absent: charge_all for everyone
    double charge_all = 1;
    particles::ArrayView softening;              // absent: the settings' length
    bool has_active = false, has_target = false; // given, though perhaps with no items
    particles::ArrayView active;
    particles::ArrayView target;
    bool target_from_1 = false;
};

struct Outputs {
    particles::ArrayView acceleration[3];
    particles::ArrayView potential;
    particles::ArrayView virial; // 6 components
    particles::ArrayView energy;
    bool add = false;
    bool force = false; // charge * field
};

class TreeForce;

class Solver {
  public:
    Solver(const Settings& settings, core::Memory& memory);
    ~Solver();

    /// Field of the particles at their active ones. Throws core::Error (value, argument, memory).
    void compute(const ParticleInput& particles, const Outputs& outputs);
    /// Field of the particles at points (positions and n of `points` only).
    void field_at(const ParticleInput& particles, const ParticleInput& points, const Outputs& outputs);

    Settings& settings() { return settings_; }
    core::Log& log() { return log_; }
    const Report& report() const { return report_; }

  private:
    void import_sources(const ParticleInput& particles, const backend::Executor& executor);
    void import_targets(const ParticleInput& particles);
    void list_targets(const ParticleInput& particles);
    void gather_targets(const backend::Executor& executor);
    void solve(const Outputs& outputs, const backend::Executor& executor, const core::Timer& total);
    void evaluate(const Outputs& outputs, const backend::Executor& executor);
    void remove_self_potential(const backend::Executor& executor);
    void write(const Outputs& outputs, const backend::Executor& executor);
    void write_sums(const Outputs& outputs, const backend::Executor& executor);
    void finish_report();

    Settings settings_;
    core::Memory& memory_;
    core::Log log_;
    Report report_;
    Problem problem_;
    RawField field_;
    core::Buffer<char> seen_;
    core::Buffer<double> sums_;
    lists::TargetSet direct_targets_; // direct method: the targets in compact blocks
    AllWorkspaces workspaces_;
    std::unique_ptr<TreeForce> tree_force_;
    const int32_t* origin_ = nullptr; // target k -> host item; NULL: k
};

} // namespace graft::pipeline
