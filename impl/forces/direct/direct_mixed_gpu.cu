// SPDX-License-Identifier: BSD-3-Clause
// All pairs in single, sums in double precision: the instances of direct_kernel_gpu.cuh.
#include "forces/direct/direct_kernel_gpu.cuh"

namespace graft::forces {

void launch_direct_mixed(backend::Queue& queue, DevicePair kind, bool potential, const DirectInput& input) {
    launch_direct<DirectShapeMixed>(queue, kind, potential, input);
}

} // namespace graft::forces
