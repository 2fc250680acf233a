// SPDX-License-Identifier: BSD-3-Clause
// Between the evaluation and the export: self potentials, virial and energy, accelerations kept for the next
// criterion.
#pragma once

#include "engine/gpu/computation_gpu.cuh"
#include "forces/evaluate_gpu.cuh"

namespace graft::engine {

/// Accelerations of the last computation, in the host's order.
struct LastField {
    explicit LastField(backend::DeviceMemory& memory) : values(memory, "last accelerations") {}
    backend::DeviceBuffer<double> values;
    int64_t n = -1; // particles that they are of; -1: none
};

class SumStep {
  public:
    explicit SumStep(backend::DeviceMemory& memory) : last(memory) {}

    /// Room for the accelerations, where this computation remembers them.
    void hold(const DeviceJob& job);
    // Enqueued, each.
    /// Self potentials off, net force, and totals.
    void sum(Computation& c, const DeviceTargetSources& sources, forces::DeviceField& field);
    /// Where momentum is conserved, which sum() does where there are targets.
    void sum_net_force(Computation& c, const DeviceTargetSources& sources, const forces::DeviceField& field);
    /// Over ranks, after sum(): what all ranks' forces miss zero by, and totals anew.
    void take_off(Computation& c, const DeviceTargetSources& sources, const double* net_force, forces::DeviceField& field);
    void remember(Computation& c, const forces::DeviceField& field, const int32_t* origin);

    LastField last;

  private:
    void total(Computation& c, const DeviceTargetSources& sources, const forces::DeviceField& field);
};

} // namespace graft::engine
