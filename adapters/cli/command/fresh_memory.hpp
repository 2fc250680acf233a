// SPDX-License-Identifier: BSD-3-Clause
// For commands that measure what a caller pays who comes once: large blocks come fresh from the system every
// time, as in a process that has just begun. The C library would keep them after the first repetition.
#pragma once

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace graft::cli {

inline void use_fresh_memory() {
#if defined(__GLIBC__)
    mallopt(M_MMAP_THRESHOLD, 128 << 10); // the usual one, but fixed
#endif
}

} // namespace graft::cli
