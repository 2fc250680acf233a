// SPDX-License-Identifier: BSD-3-Clause
// liu2022's kernels from lists on the device as he feeds them (section 4): the host has the lists, collects
// interactions in buffers and sends each full one (liu_buffers_gpu.cuh). Deck key study.buffer.
//
// Lists come to the host in pieces, the next one on its way while the last one is fed: leaves first, then
// nodes, groups in their order.
#pragma once

#include "study/papers/liu_buffers_gpu.cuh"
#include "forces/variants_gpu.cuh"

#include <memory>

namespace graft::study {

/// Streams whose kernels run beside each other: as many as the driver has queues, unless it is told another
/// number. model/liu_feed.hpp reckons with it.
inline constexpr int feed_lanes = 8;

class FedEvaluator : public forces::Feed {
  public:
    explicit FedEvaluator(backend::DeviceMemory& memory);
    ~FedEvaluator() override;
    /// As DeviceEvaluator::evaluate() with how.kernel pairs_1d or tiles_2d, so many interactions a kernel
    /// (2-D: block_x at least). Waits: for the lists, and at the end for all kernels; where an earlier kernel
    /// has stopped the computation it does nothing. `trace`: the kernels' times are kept.
    void evaluate(backend::Queue& queue, const forces::DeviceEvaluation& how, int64_t buffer,
                  const tree::DeviceTree& tree, const moments::DeviceMoments& moments,
                  const lists::DeviceTargets& targets, const lists::DeviceLists& lists, forces::DeviceField& field,
                  bool trace);
    void evaluate(backend::Queue& queue, const forces::DeviceEvaluation& how, int64_t buffer,
                  const tree::DeviceTree& tree, const moments::DeviceMoments& moments,
                  const lists::DeviceTargets& targets, const lists::DeviceLists& lists,
                  forces::DeviceField& field) override {
        evaluate(queue, how, buffer, tree, moments, targets, lists, field, false);
    }
    const forces::FedReport& report() const override;
    const std::vector<PaperLaunch>& traced() const;

  private:
    struct Work;
    std::unique_ptr<Work> work_;
};

} // namespace graft::study
