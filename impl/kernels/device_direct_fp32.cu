// All pairs in single precision: the instances of device_direct_kernel.cuh.
#include "kernels/device_direct_kernel.cuh"

namespace graft::kernels {

void launch_direct_fp32(backend::Queue& queue, DevicePair kind, bool potential, const DirectInput& input) {
    if (is_wide(kind, potential, input.cut.targets))
        launch_direct_kernel<DirectShapeWide, DevicePair::constant, false>(queue, input);
    else
        launch_direct<DirectShapeFp32>(queue, kind, potential, input);
}

} // namespace graft::kernels
