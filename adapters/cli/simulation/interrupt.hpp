// SPDX-License-Identifier: BSD-3-Clause
// Ctrl-C and kill ask a run to stop after its present step; a second one ends the process the usual way.
#pragma once

namespace graft::cli {

/// While one lives, SIGINT and SIGTERM only set a flag. One at a time in a process.
class InterruptGuard {
  public:
    InterruptGuard();
    ~InterruptGuard();
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;

    /// The signal that came, or 0.
    static int signal_received() noexcept;
};

} // namespace graft::cli
