// The level strategy of a rank alone, on a GPU (device_orb.hpp); strategies.hpp has the CPU's.
#pragma once

#include "decompose/problem.hpp"

namespace graft::decompose {

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
