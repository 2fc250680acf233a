// SPDX-License-Identifier: BSD-3-Clause
// Pairs of a periodic box in double precision.
#include "periodic/periodic_pairs_gpu.cuh"

namespace graft::periodic {

void launch_periodic_pairs(backend::Queue& queue, forces::DevicePair kind, bool potential, bool virial,
                           const PeriodicPairs<double>& in) {
    if (kind == forces::DevicePair::constant)
        periodic::periodic_pairs::launch<double, forces::DevicePair::constant, 0>(queue, in, potential, virial);
    else if (kind == forces::DevicePair::plummer)
        periodic::periodic_pairs::launch<double, forces::DevicePair::plummer, 0>(queue, in, potential, virial);
    else
        periodic::periodic_pairs::launch<double, forces::DevicePair::spline, 0>(queue, in, potential, virial);
}

} // namespace graft::periodic
