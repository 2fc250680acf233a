// Whose memory it is: contexts told apart over the life of a process (device_context.cuh).
#pragma once

#include <cstdint>

namespace graft::backend {

/// Of the current context; no other one of this process ever has the same, while an address may return. 0:
/// there is none, or the driver is older than 12.0 and does not tell.
uint64_t current_context_id() noexcept;
/// Whether use_device() on this thread makes primary contexts current.
bool works_in_primary() noexcept;

} // namespace graft::backend
