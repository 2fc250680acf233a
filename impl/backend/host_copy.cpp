// SPDX-License-Identifier: BSD-3-Clause
// See host_copy.hpp.
#include "backend/host_copy.hpp"

#include <cstring>

namespace graft::backend {

void copy_by_threads(const Executor& executor, void* to, const void* from, int64_t bytes) {
    constexpr int64_t block = 1 << 20;
    executor.for_blocks(bytes, block, [&](int64_t begin, int64_t end, int) {
        std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                    static_cast<size_t>(end - begin));
    });
}

} // namespace graft::backend
