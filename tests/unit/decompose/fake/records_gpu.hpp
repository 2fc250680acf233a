// SPDX-License-Identifier: BSD-3-Clause
// What a test can make the library of records_cuda.cpp do.
#pragma once

#include <atomic>
#include <cstdint>

namespace fake {

struct Control {
    std::atomic<int64_t> starts{0};
    std::atomic<int32_t> refusing{-1};    // device whose start() has no memory
    std::atomic<int32_t> failing{-1};     // device that breaks
    std::atomic<int64_t> failing_call{0}; // at its so-manyth question after start()
    std::atomic<int64_t> calls{0};        // questions of the failing device
};

} // namespace fake
