// SPDX-License-Identifier: BSD-3-Clause
// The CUDA context that a computation works in. CUDA's runtime has one for each device, the primary one;
// hosts of the driver's interface make contexts of their own (OpenMM, PyCUDA), whose arrays and streams
// nobody can use in another context. A computation works in the context that is current when it begins, where
// that is one of its device, and in the device's primary one otherwise.
//
// Invariants: a context is made by use_device() alone, and on the device asked for alone: asking what is
// current makes none. libgraft_cuda.so has a CUDA runtime of its own (static), so that the current context is
// all that a host sees of what is set here. Source: CUDA Driver API, Context Management; Interactions with
// the Runtime.
#pragma once

#include <cuda_runtime_api.h>

namespace graft::backend {

/// The driver's CUcontext; nullptr: none.
using Context = void*;

/// That of the calling thread; nullptr where there is none, or no driver.
Context current_context() noexcept;
/// nullptr leaves the thread without one.
void make_current(Context context) noexcept;
/// Whether the current context is one of this device, whoever made it, and has not gone with a reset.
bool current_is_of(int device) noexcept;

/// Which calls this thread forbids itself while streams are in capture: CUstreamCaptureMode.
inline constexpr int relaxed_capture = 2;
/// Sets it and returns what it was; without a driver, or before it has been initialised, nothing happens.
int exchange_capture_mode(int mode) noexcept;

/// Makes the context of InContext current, or the device's primary one, which is made where there is none yet.
cudaError_t use_device(int device) noexcept;

/// While it lives, use_device() on this thread takes `context`, which is current from the start; nullptr: the
/// primary one.
class InContext {
  public:
    explicit InContext(Context context) noexcept;
    ~InContext();
    InContext(const InContext&) = delete;
    InContext& operator=(const InContext&) = delete;

  private:
    Context before_;
};

} // namespace graft::backend
