// SPDX-License-Identifier: BSD-3-Clause
// tiled, pairs of boxes summed once (Newton's third law): a warp sums a box with its later neighbours and
// keeps what it sums for them beside; a second kernel adds what a target's boxes have left for it.
//
// A target's sums are added in one order: those of its own box's warp (own box first, then later neighbours),
// then those that earlier neighbours left, in their order. So they have the same bits every run, and in any
// part of a structure (mutual.hpp). Memory: 16 bytes for each later neighbour's source of a box, half of 27
// times the points, written and read once.
#pragma once

#include "near/near_sum_gpu.cuh"
#include "near/mutual.hpp"

#include <vector>

namespace graft::near {

/// Targets [first, first + count) of a box, `targets` to a lane, at most 32 times as many.
struct MutualUnit {
    int32_t box, first;
    int16_t count;
    uint8_t targets, own; // own: the box names itself
    int32_t unused;
    int64_t later, sums; // where the sums of its later neighbours' sources and of its targets stand
};

/// What the first kernel reads and writes beside a SumView, whose runs are those of later neighbours.
struct MutualView {
    const MutualUnit* unit;
    const int2* check; // of a box: later sources k in [x, y) may be where a target is
    float4* sum;       // potential, gradient
};

/// Units [view.first, view.first + view.count).
template <Form form, int dimension>
void sum_mutual_of(backend::Queue& queue, const SumView<Precision::fp32>& view, const MutualView& mutual);

/// A structure with mutual lists on the device.
class Mutual {
  public:
    Mutual(const DeviceStructure& structure, backend::Queue& queue) // waits
        : Mutual(structure, later_boxes(structure.host()), queue) {}
    /// Finds who may meet; enqueued.
    void set_points(backend::Queue& queue, const Point<float>* points);
    /// Enqueued. view: of the whole structure.
    void run(backend::Queue& queue, int32_t dimension, SumView<Precision::fp32> view);
    int64_t bytes() const noexcept;

  private:
    Mutual(const DeviceStructure& structure, const LaterBoxes& later, backend::Queue& queue);
    const DeviceStructure& structure_;
    Runs runs_; // of later neighbours
    int32_t units_ = 0;
    backend::DeviceBuffer<MutualUnit> unit_;
    backend::DeviceBuffer<int2> check_;
    backend::DeviceBuffer<int64_t> list_, from_; // of a box' targets: where their sums begin
    backend::DeviceBuffer<float4> sum_;
};

} // namespace graft::near
