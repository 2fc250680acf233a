// Pairs of a periodic box in float, softened by the spline.
#include "kernels/device_periodic_pairs.cuh"

namespace graft::kernels {

void launch_periodic_soft_pairs(backend::Queue& queue, bool potential, bool virial,
                                const PeriodicPairs<float>& in) {
    periodic_pairs::launch<float, DevicePair::spline, 0>(queue, in, potential, virial);
}

} // namespace graft::kernels
