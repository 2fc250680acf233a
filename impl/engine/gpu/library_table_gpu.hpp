// SPDX-License-Identifier: BSD-3-Clause
// The table of a GPU library, for the file that exports it.
#pragma once

#include "backend/gpu_library.hpp"

namespace graft::engine {

/// Without benches: those are the study library's.
const backend::CudaTable& library_table();

} // namespace graft::engine
