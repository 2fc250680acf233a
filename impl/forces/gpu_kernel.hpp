// SPDX-License-Identifier: BSD-3-Clause
// Who evaluates lists on a GPU: deck key study.kernel. For the host's compiler too.
#pragma once

#include <cstdint>

namespace graft::forces {

enum class DeviceKernel : int32_t {
    automatic = 0,
    units = 1, // ours: tasks of warps, several targets a lane, partial sums added in order
    block_per_group = 2, // gaburov2010
    pairs_1d = 3,        // liu2022: a thread a (target leaf, source leaf), atomics
    tiles_2d = 4         // liu2022: a block a target leaf and BX sources, atomics
};

/// The stage of all pairs that is ours (deck key cuda.direct_stage).
inline constexpr int32_t own_direct_stage = 3;

/// Whether it is the kernels that work by tasks, with partial sums.
inline bool works_by_tasks(DeviceKernel kernel) {
    return kernel == DeviceKernel::automatic || kernel == DeviceKernel::units;
}

} // namespace graft::forces
