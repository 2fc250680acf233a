// SPDX-License-Identifier: BSD-3-Clause
// Bytes from here to there by several threads: one alone cannot feed a GPU's link.
#pragma once

#include "backend/executor.hpp"

#include <cstdint>

namespace graft::backend {

void copy_by_threads(const Executor& executor, void* to, const void* from, int64_t bytes);

} // namespace graft::backend
