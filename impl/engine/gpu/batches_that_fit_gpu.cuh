// SPDX-License-Identifier: BSD-3-Clause
// Memory of a computation on the GPU: how many batches of groups, room for one, and what is given back when
// memory runs out. The arithmetic is batches_that_fit.hpp's.
//
// What is not of a batch (particles, tree, moments, targets, the field, results for the host) is allocated
// before the batches are planned; the rest of what gpu.memory allows, or half of what is free where nothing
// is said, is theirs.
#pragma once

#include "engine/gpu/batches_that_fit.hpp"

namespace graft::backend {
struct DeviceStatus;
}

namespace graft::engine {

struct Steps;

class BatchCapacity {
  public:
    int batches() const { return batches_; }
    /// Room for the first computation, or the first one under other limits: from a guess of the lists'
    /// lengths.
    void hold(Steps& s);
    /// After a computation that found its room too small. False: it did not ask for any of this. Throws
    /// Error(memory) where one group at a time does not fit.
    bool grow(Steps& s, const backend::DeviceStatus& status);
    /// After the first computation with guessed room: kernels that go through all there is room for should not
    /// go through more than there is. The memory is kept.
    void tighten(Steps& s);
    /// Gives it back; kept lists go with it.
    void release(Steps& s);

  private:
    BatchShape shape_for(const Steps& s) const;
    BatchLimits limits_for(const Steps& s) const;
    void hold_fixed(Steps& s);
    void take_plan(Steps& s, const BatchPlan& plan);
    void take_groups(Steps& s, const BatchNumbers& capacity);

    int batches_ = 1;
    BatchNumbers capacity_; // of a batch
    struct {
        int64_t memory = 0, lists = 0;
        bool in_double = false, with_tasks = false, with_local = false;
    } planned_;            // what the room was made for
    bool guessed_ = false; // the room is a guess
};

} // namespace graft::engine
