// SPDX-License-Identifier: BSD-3-Clause
// What reading and writing of the host's arrays share on the CPU: one element, and the first bad item.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

namespace graft::particles {

template <typename T>
T load(const char* address) noexcept { // hosts' structs need not be aligned
    T value;
    std::memcpy(&value, address, sizeof value);
    return value;
}

/// The smallest of what threads have found so far, to `first`.
inline void note_first(std::atomic<int64_t>& first, int64_t found) noexcept {
    int64_t seen = first.load();
    while (found < seen && !first.compare_exchange_weak(seen, found)) {
    }
}

} // namespace graft::particles
