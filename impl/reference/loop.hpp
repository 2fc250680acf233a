// SPDX-License-Identifier: BSD-3-Clause
// The oracles' loop over threads.
#pragma once

#include "core/float_environment.hpp"

#include <algorithm>
#include <cstdint>

namespace graft::reference {

/// body(i) for i in [0, n), `chunk` of them at a time; it does not throw.
template <class Body>
void for_each(int64_t n, int threads, int chunk, const Body& body) {
    (void)threads, (void)chunk;
#ifdef _OPENMP
#pragma omp parallel num_threads(std::max(1, threads))
#endif
    {
        const core::DefaultFloatEnvironment held;
#ifdef _OPENMP
#pragma omp for schedule(dynamic, chunk)
#endif
        for (int64_t i = 0; i < n; ++i)
            body(i);
    }
}

} // namespace graft::reference
