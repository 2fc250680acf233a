// SPDX-License-Identifier: BSD-3-Clause
// The floating-point environment that Graft computes in: the C library's default one, whatever the host has set.
#pragma once

#include <cfenv>

namespace graft::core {

/// While it lives, this thread has no floating-point traps, rounds to nearest and keeps subnormal numbers; then it
/// has the host's environment again, flags included. Sums pass through 0/0 in lanes that nobody reads, so that a host
/// with traps would be ended by a right computation. Each thread of a loop needs one of its own.
class DefaultFloatEnvironment {
  public:
    DefaultFloatEnvironment() noexcept {
        std::fegetenv(&host_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~DefaultFloatEnvironment() { std::fesetenv(&host_); }
    DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
    DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

  private:
    std::fenv_t host_;
};

} // namespace graft::core
