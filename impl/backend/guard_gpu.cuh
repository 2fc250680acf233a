// SPDX-License-Identifier: BSD-3-Clause
// The edge of libgraft_cuda.so: exceptions become statuses, and the device that the host has chosen stays
// chosen.
#pragma once

#include "backend/context_gpu.cuh"
#include "backend/gpu_errors.hpp"

#include <utility>

namespace graft::backend {

/// While it lives devices may be set; then the context of before is current again, or none: a host whose
/// ranks have a GPU each gets no context on GPU 0. An error that the host left is forgotten: it is not ours.
/// Memory may be allocated while the host captures a graph on a stream of its own, which CUDA takes for a
/// mistake, and spoils the graph, unless the thread says that it means it.
class KeepsDevice {
  public:
    KeepsDevice() noexcept
        : before_(current_context()), capture_mode_(exchange_capture_mode(relaxed_capture)) {
        (void)cudaGetLastError();
    }
    ~KeepsDevice() {
        (void)exchange_capture_mode(capture_mode_);
        make_current(before_);
    }
    KeepsDevice(const KeepsDevice&) = delete;
    KeepsDevice& operator=(const KeepsDevice&) = delete;

  private:
    Context before_;
    int capture_mode_;
};

/// Runs `body`, which may set devices; what it throws becomes a status and a message.
template <typename Body>
int32_t guarded_device(DeviceError* error, Body&& body) noexcept {
    const KeepsDevice keeps;
    return as_status(error, std::forward<Body>(body));
}

} // namespace graft::backend
