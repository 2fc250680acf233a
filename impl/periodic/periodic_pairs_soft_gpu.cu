// Pairs of a periodic box in float, softened by the spline or by Plummer lengths per particle.
#include "periodic/periodic_pairs_gpu.cuh"

namespace graft::kernels {

void launch_periodic_soft_pairs(backend::Queue& queue, DevicePair kind, bool potential, bool virial,
                                const PeriodicPairs<float>& in) {
    if (kind == DevicePair::spline)
        periodic_pairs::launch<float, DevicePair::spline, 0>(queue, in, potential, virial);
    else
        periodic_pairs::launch<float, DevicePair::plummer, 0>(queue, in, potential, virial);
}

} // namespace graft::kernels
