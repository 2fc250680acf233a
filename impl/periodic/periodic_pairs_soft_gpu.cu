// SPDX-License-Identifier: BSD-3-Clause
// Pairs of a periodic box in float, softened by the spline or by Plummer lengths per particle.
#include "periodic/periodic_pairs_gpu.cuh"

namespace graft::periodic {

void launch_periodic_soft_pairs(backend::Queue& queue, forces::DevicePair kind, bool potential, bool virial,
                                const PeriodicPairs<float>& in) {
    if (kind == forces::DevicePair::spline)
        periodic::periodic_pairs::launch<float, forces::DevicePair::spline, 0>(queue, in, potential, virial);
    else
        periodic::periodic_pairs::launch<float, forces::DevicePair::plummer, 0>(queue, in, potential, virial);
}

} // namespace graft::periodic
