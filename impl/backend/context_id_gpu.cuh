// SPDX-License-Identifier: BSD-3-Clause
// Whose memory it is: contexts told apart over the life of a process (context_gpu.cuh), and how much there
// is.
#pragma once

#include "backend/context_gpu.cuh"

#include <cstdint>

namespace graft::backend {

/// A context, and the number that no other one of this process ever has, while an address may return.
struct ContextMark {
    Context context = nullptr;
    uint64_t id = 0; // 0: there is none, or the driver is older than 12.0 and does not tell

    bool known() const noexcept { return id != 0; }
    /// Whether its host has destroyed it, or reset its device; false where it is not known.
    bool gone() const noexcept;
    friend bool operator==(const ContextMark&, const ContextMark&) = default;
};

/// Of the calling thread's context.
ContextMark current_mark() noexcept;
/// Whether use_device() on this thread makes primary contexts current.
bool works_in_primary() noexcept;
/// Bytes of the device's memory; 0 where the driver does not tell. Makes no context.
int64_t total_memory(int device) noexcept;

} // namespace graft::backend
