// SPDX-License-Identifier: BSD-3-Clause
// Runs a piece of code in a child process first, to learn whether it survives.
// For third-party parsers with memory errors of their own: HDF5 1.10 reads freed memory on some damaged
// files, which no check of ours can prevent. What kills the child becomes an Error here.
#pragma once

#include <functional>

namespace graft::cli {

/// Whether `action` returns or throws in a child process within 30 s, rather than dying there. Its output and
/// effects on memory are lost. true also when no child can be made. Cost: one fork. POSIX.
bool survives_rehearsal(const std::function<void()>& action);

} // namespace graft::cli
