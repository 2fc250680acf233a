// The device that the host has chosen is the host's: it is put back.
#pragma once

#include "backend/device.cuh"

namespace graft::pipeline {

class DeviceGuard {
  public:
    explicit DeviceGuard(int device) {
        if (cudaGetDevice(&before_) != cudaSuccess)
            before_ = device;
        (void)cudaSetDevice(device);
        (void)cudaGetLastError(); // what the host left there is not ours
    }
    ~DeviceGuard() { (void)cudaSetDevice(before_); }
    DeviceGuard(const DeviceGuard&) = delete;
    DeviceGuard& operator=(const DeviceGuard&) = delete;

  private:
    int before_ = 0;
};

} // namespace graft::pipeline
