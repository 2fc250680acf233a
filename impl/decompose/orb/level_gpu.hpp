// SPDX-License-Identifier: BSD-3-Clause
// The level strategy of a rank alone, on a GPU (orb_table.hpp); strategies.hpp has the CPU's.
#pragma once

#include "backend/gpu_library.hpp"
#include "decompose/checked_points.hpp"

namespace graft::decompose {

/// The table when the options allow a GPU and this process has one, else NULL.
const backend::CudaTable* find_device(const Problem& problem);
/// The device that this rank takes; -1: the library cannot tell how many there are.
int32_t device_of(const backend::CudaTable& cuda, const Problem& problem);

/// Keeps the GPU's engine and memory between calls; made at the first call that may use it.
class DeviceLevel {
  public:
    DeviceLevel() = default;
    ~DeviceLevel();
    DeviceLevel(const DeviceLevel&) = delete;
    DeviceLevel& operator=(const DeviceLevel&) = delete;

    /// The whole result as LevelStrategy::run fills it, the same bits. False: not for the GPU (options, size,
    /// no device, not enough of its memory); nothing was written then but the statistics' on_device. Throws
    /// Error(value, memory of the host).
    bool run(const Problem& problem, Result& result);

  private:
    void* engine_ = nullptr;
    int32_t device_ = -1;
};

} // namespace graft::decompose
