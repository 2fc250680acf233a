// All pairs in double precision: the instances of device_direct_kernel.cuh.
#include "kernels/device_direct_kernel.cuh"

namespace graft::kernels {

void launch_direct_fp64(backend::Queue& queue, DevicePair kind, bool potential, const DirectInput& input) {
    launch_direct<DirectShapeFp64>(queue, kind, potential, input);
}

} // namespace graft::kernels
