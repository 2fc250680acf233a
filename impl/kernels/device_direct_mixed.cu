// All pairs in single, sums in double precision: the instances of device_direct_kernel.cuh.
#include "kernels/device_direct_kernel.cuh"

namespace graft::kernels {

void launch_direct_mixed(backend::Queue& queue, DevicePair kind, bool potential, const DirectInput& input) {
    launch_direct<DirectShapeMixed>(queue, kind, potential, input);
}

} // namespace graft::kernels
