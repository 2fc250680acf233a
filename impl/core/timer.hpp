// SPDX-License-Identifier: BSD-3-Clause
// Wall-clock stopwatch in seconds.
#pragma once

#include <chrono>

namespace graft::core {

class Timer {
  public:
    Timer() : start_(Clock::now()) {}
    /// Seconds since construction or the last lap().
    double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
    /// Seconds since construction or the last lap(), and starts anew.
    double lap() {
        const Clock::time_point now = Clock::now();
        const double elapsed = std::chrono::duration<double>(now - start_).count();
        start_ = now;
        return elapsed;
    }

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point start_;
};

} // namespace graft::core
