// SPDX-License-Identifier: BSD-3-Clause
// All pairs in single precision: the instances of direct_kernel_gpu.cuh.
#include "forces/direct/direct_kernel_gpu.cuh"

namespace graft::forces {

void launch_direct_fp32(backend::Queue& queue, DevicePair kind, bool potential, const DirectInput& input) {
    if (is_wide(kind, potential, input.division.targets))
        launch_direct_kernel<DirectShapeWide, DevicePair::constant, false>(queue, input);
    else
        launch_direct<DirectShapeFp32>(queue, kind, potential, input);
}

} // namespace graft::forces
