// One force computation from the host's arrays to the host's arrays: the way of the data through all rooms.
//
// Invariants: outputs are written only after everything has succeeded; all memory comes from the Memory given and is
// kept between calls, so that a second call of the same size allocates nothing; results are the same bits for any
// number of threads.
#pragma once

#include "backend/executor.hpp"
#include "core/buffer.hpp"
#include "core/log.hpp"
#include "particles/array_view.hpp"
#include "pipeline/report.hpp"
#include "pipeline/settings.hpp"

#include <memory>

namespace graft::pipeline {

struct ParticleInput {
    int64_t n = 0;
    particles::ArrayView position[3];
    particles::ArrayView charge; // absent: charge_all for everyone
    double charge_all = 1;
    particles::ArrayView softening; // absent: the settings' length
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

/// Raw field at the targets, in target order and internal units: sum of q d / r^3 towards the sources, sum of q / r.
struct RawField {
    explicit RawField(core::Memory& memory)
        : ax(memory, "field x"), ay(memory, "field y"), az(memory, "field z"), potential(memory, "potentials") {}
    core::Buffer<double> ax, ay, az, potential;
    void resize(int64_t n, bool with_potential) {
        ax.resize(n), ay.resize(n), az.resize(n);
        potential.resize(with_potential ? n : 0);
    }
};

/// Sources (host order, contiguous) and targets, validated, charges scaled by a power of two to sum |q| in (0.5, 1].
struct Problem {
    explicit Problem(core::Memory& memory)
        : x(memory, "x"), y(memory, "y"), z(memory, "z"), charge(memory, "charges"), softening(memory, "softening"),
          target(memory, "targets"), point_x(memory, "point x"), point_y(memory, "point y"),
          point_z(memory, "point z") {}
    int64_t n = 0;
    core::Buffer<double> x, y, z, charge;
    core::Buffer<double> softening; // empty: one length for all
    bool all_targets = true;        // every particle, in host order: `target` is empty
    bool points = false;            // the targets are point_x, point_y, point_z
    core::Buffer<int32_t> target;   // host indices otherwise
    core::Buffer<double> point_x, point_y, point_z;
    double charge_scale = 1; // internal charge = host charge * charge_scale
    int64_t target_count() const {
        return points ? point_x.size() : (all_targets ? n : static_cast<int64_t>(target.size()));
    }
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
    void import_targets(const ParticleInput& particles, const backend::Executor& executor);
    void evaluate(const Outputs& outputs, const backend::Executor& executor);
    void evaluate_direct(bool with_potential, const backend::Executor& executor);
    void evaluate_reference(bool with_potential);
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
    std::unique_ptr<TreeForce> tree_force_;
    const int32_t* origin_ = nullptr; // target k -> host item; NULL: k
};

} // namespace graft::pipeline
