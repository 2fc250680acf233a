// SPDX-License-Identifier: BSD-3-Clause
// A periodic box on the device: its splitting, pairs and waves.
//
// The splitting depends on the box, the number of particles and the settings, not on charges or places, so
// the host finds it without a look at the device. Of softening lengths a particle it needs the largest, of a
// slab the extent: the host plans for what the last computation found, in steps, and the device stops a
// computation whose particles need more; that one is planned anew and repeated. Plans shrink when the
// particles need clearly less, so that an engine does not pay for what it saw once.
#pragma once

#include "engine/gpu/force_table.hpp"
#include "engine/gpu/target_step_gpu.cuh"
#include "engine/import_inputs_gpu.cuh"
#include "periodic/periodic_gpu.cuh"

#include <vector>

namespace graft::engine {

/// What of the particles a splitting hangs on.
struct LatticeNeed {
    double longest = 0;          // softening length, of particles with one each
    double lower = 0, upper = 0; // of a slab's particles
};

class LatticeStep {
  public:
    explicit LatticeStep(backend::DeviceMemory& memory) : sum(memory) {}

    /// Splits the sum, where it is not split so yet.
    void plan(Computation& c);
    /// True when the particles needed more than the sum was split for, and it is split anew.
    bool plan_again(Computation& c);
    /// What the next computation is planned for: what this one has found.
    void plan_for(const periodic::PeriodicFacts& facts);
    /// After a computation: a plan that is far too large is made anew with the next one.
    void follow_particles(const Computation& c);
    /// Without targets that are not all particles.
    periodic::PeriodicTask task(Computation& c, const ImportStep& from) const;
    /// Enqueued.
    void evaluate(Computation& c, const periodic::PeriodicTask& task, const ImportStep& from,
                  TargetStep& targets, forces::DeviceField& field);
    void report(const Computation& c, DeviceReport::Periodic& report) const;

    /// What it is split for now.
    const LatticeNeed& planned() const { return planned_; }
    /// The next computation is to split it anew.
    bool stale() const { return stale_; }

    periodic::DevicePeriodic sum;
    double net = 0, magnitude = 0; // over ranks: of all ranks' charges, host units

  private:
    periodic::DeviceLattice lattice_for(const DeviceJob& job) const;
    std::vector<double> key_; // of the splitting
    LatticeNeed planned_;
    bool measured_ = false; // a computation has found these
    bool stale_ = false;
};

} // namespace graft::engine
