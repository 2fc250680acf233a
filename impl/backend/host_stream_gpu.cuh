// SPDX-License-Identifier: BSD-3-Clause
// The host's stream, looked at before work goes to it.
#pragma once

#include <cuda_runtime_api.h>

namespace graft::backend {

/// A cudaStream_t of the host's, or NULL. Throws Error(argument) where the stream is in capture, which goes
/// on; Error(device) where it is no stream of the current context.
cudaStream_t host_stream(void* stream);

} // namespace graft::backend
