// The edge of libgraft_cuda.so: exceptions become statuses, and the device that the host has chosen stays
// chosen.
#pragma once

#include "backend/device_errors.hpp"

#include <cuda_runtime_api.h>

#include <utility>

namespace graft::backend {

/// While it lives devices may be set; then the one of before is current again. An error that the host left is
/// forgotten: it is not ours.
class KeepsDevice {
  public:
    KeepsDevice() noexcept {
        (void)cudaGetDevice(&before_);
        (void)cudaGetLastError();
    }
    ~KeepsDevice() {
        int now = before_;
        (void)cudaGetDevice(&now);
        if (now != before_)
            (void)cudaSetDevice(before_);
    }
    KeepsDevice(const KeepsDevice&) = delete;
    KeepsDevice& operator=(const KeepsDevice&) = delete;

  private:
    int before_ = 0;
};

/// Runs `body`, which may set devices; what it throws becomes a status and a message.
template <typename Body>
int32_t guarded_device(DeviceError* error, Body&& body) noexcept {
    const KeepsDevice keeps;
    return as_status(error, std::forward<Body>(body));
}

} // namespace graft::backend
