// SPDX-License-Identifier: BSD-3-Clause
// Seconds for measurements: of one thread its own processor time, so that other programs on a busy machine do
// not count; of several threads the wall's.
#pragma once

#include "core/timer.hpp"

#include <ctime>

namespace graft::near {

class Stopwatch {
  public:
    explicit Stopwatch(bool own_time) : own_time_(own_time), start_(now()) {}
    /// Seconds since construction or the last lap(), and starts anew.
    double lap() {
        const double end = now();
        const double seconds = end - start_;
        start_ = end;
        return seconds;
    }

  private:
    double now() const {
        timespec t{};
        if (own_time_ && clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0)
            return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
        return wall_.seconds();
    }

    core::Timer wall_;
    bool own_time_;
    double start_;
};

} // namespace graft::near
