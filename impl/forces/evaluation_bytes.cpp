// SPDX-License-Identifier: BSD-3-Clause
// See evaluation_bytes.hpp.
#include "forces/evaluation_bytes.hpp"

#include <algorithm>

namespace graft::forces {

TaskSize task_size(int64_t targets, bool far) {
    const auto interactions = [&](int64_t targets_a_task) {
        return static_cast<int>(std::clamp(targets / targets_a_task, int64_t{4096}, int64_t{65536}));
    };
    return {interactions(8), interactions(far ? 64 : 8)};
}

} // namespace graft::forces
