// SPDX-License-Identifier: BSD-3-Clause
// Whether the threads that a computation would take can be had. OpenMP's run time ends the process when it
// cannot start one, and a worker whose stack is too small dies in a kernel; so both are looked at before.
#pragma once

#include <cstdint>

namespace graft::backend {

constexpr int most_threads = 4096;
/// What kernels and the run time may have on a worker's stack at a time.
constexpr int64_t least_stack_bytes = int64_t{64} << 10u;

/// Throws Error(argument) when so many threads (0: what OpenMP would use) are more than most_threads, when
/// the system does not give them, or when workers have less stack than least_stack_bytes. What was found good
/// is remembered; then the cost is a comparison.
void require_threads(int threads);

} // namespace graft::backend
