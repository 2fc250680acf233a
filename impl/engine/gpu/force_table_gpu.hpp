// SPDX-License-Identifier: BSD-3-Clause
// The engine's part of libgraft_cuda.so's table.
#pragma once

#include "backend/context_gpu.cuh"
#include "engine/gpu/force_table.hpp"
#include "engine/ranks/rank_force_table.hpp"

namespace graft::engine {

class DeviceForce;

const DeviceForceTable* device_force_table();
const DeviceRanksTable* device_ranks_table();
/// What stands behind the engine that create() gave, with its context current.
class ForceAt {
  public:
    explicit ForceAt(void* engine);
    DeviceForce* operator->() const { return &force_; }
    DeviceForce& operator*() const { return force_; }

  private:
    backend::InContext here_;
    DeviceForce& force_;
};

} // namespace graft::engine
