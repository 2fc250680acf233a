// SPDX-License-Identifier: BSD-3-Clause
// Where the arrays of a call stand: host, device or managed memory, as the caller says or as CUDA knows.
//
// CUDA is looked for only when an array gives reason to, and never in a context with backend cpu.
#pragma once

#include "particles/array_view.hpp"
#include "settings/settings.hpp"

#include <graft/types.h>

#include <string>

namespace graft::capi {

/// What one call may be given. The default: host arrays only, and nobody asks CUDA.
struct Places {
    bool device_arrays = false;                         // whether the call works on them
    settings::Backend backend = settings::Backend::cpu; // of the context
    int32_t device = -1;                                // of the context; -1: that of the first array on one
    mutable std::string first_name;                     // of that array, once there is one
    mutable int32_t first_device = -1;
};

/// The memory that `array` is in. Throws Error(array) when what the caller says is not what CUDA knows of the
/// pointer, or it is on another device; Error(unsupported) when the call or the backend takes no device
/// arrays; Error(device) when no GPU can be used. Arrays without items are where the caller says.
particles::MemorySpace find_place(const graft_array& array, const char* name, const Places& places);

} // namespace graft::capi
