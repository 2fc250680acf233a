// Pairs of a periodic box in double precision.
#include "periodic/periodic_pairs_gpu.cuh"

namespace graft::kernels {

void launch_periodic_pairs(backend::Queue& queue, DevicePair kind, bool potential, bool virial,
                           const PeriodicPairs<double>& in) {
    if (kind == DevicePair::constant)
        periodic_pairs::launch<double, DevicePair::constant, 0>(queue, in, potential, virial);
    else if (kind == DevicePair::plummer)
        periodic_pairs::launch<double, DevicePair::plummer, 0>(queue, in, potential, virial);
    else
        periodic_pairs::launch<double, DevicePair::spline, 0>(queue, in, potential, virial);
}

} // namespace graft::kernels
