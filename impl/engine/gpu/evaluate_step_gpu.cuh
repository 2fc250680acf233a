// SPDX-License-Identifier: BSD-3-Clause
// The field at the targets, on the device: lists evaluated batch by batch, or all pairs.
#pragma once

#include "engine/gpu/tree_step_gpu.cuh"
#include "forces/evaluate_gpu.cuh"
#include "forces/variants_gpu.cuh"
#include "lists/lists_gpu.cuh"

#include <memory>

namespace graft::engine {

class EvaluateStep {
  public:
    explicit EvaluateStep(backend::DeviceMemory& memory)
        : evaluator(memory), field(memory), memory_(memory), direct_(memory) {}

    // Enqueued, each.
    /// Where lists are split at once (how.packed): what that needs of the cells.
    void pack(Computation& c, const forces::DeviceEvaluation& how, const tree::DeviceTree& tree,
              const moments::DeviceMoments& moments);
    /// What lists are to be split by; NULL: they are not.
    const lists::DeviceFarChoice* far(const forces::DeviceEvaluation& how) const {
        return how.packed ? &far_ : nullptr;
    }
    /// Before the batches.
    void begin(const DeviceJob& job);
    /// Waits where the host feeds the kernels.
    void batch(Computation& c, const forces::DeviceEvaluation& how, const TreeStep& from,
               const lists::DeviceTargets& targets, const lists::DeviceLists& lists);
    /// All pairs.
    void direct(Computation& c, const forces::DeviceSources& sources, const forces::DeviceSources& targets);
    void clear(Computation& c);

    /// Of this computation's batches.
    const forces::FedReport& fed() const { return fed_report_; }

    forces::DeviceEvaluator evaluator;
    forces::DeviceField field;

  private:
    backend::DeviceMemory& memory_;
    std::unique_ptr<forces::Feed> fed_; // of study.buffer
    forces::FedReport fed_report_;
    lists::DeviceFarChoice far_{};
    forces::DeviceDirect direct_;
};

} // namespace graft::engine
