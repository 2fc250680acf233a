// SPDX-License-Identifier: BSD-3-Clause
// All pairs in double precision: the instances of direct_kernel_gpu.cuh.
#include "forces/direct/direct_kernel_gpu.cuh"

namespace graft::forces {

void launch_direct_fp64(backend::Queue& queue, DevicePair kind, bool potential, const DirectInput& input) {
    launch_direct<DirectShapeFp64>(queue, kind, potential, input);
}

} // namespace graft::forces
