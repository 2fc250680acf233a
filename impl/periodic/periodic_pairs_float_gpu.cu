// SPDX-License-Identifier: BSD-3-Clause
// Pairs of a periodic box in float, softened by one Plummer length or not at all.
#include "periodic/periodic_pairs_gpu.cuh"

#include <algorithm>

namespace graft::periodic {

void launch_periodic_pairs(backend::Queue& queue, forces::DevicePair kind, bool potential, bool virial,
                           const PeriodicPairs<float>& in) {
    constexpr int few = 13, usual = 16; // terms, for accuracies down to about 1e-4 and 1e-6
    const int terms = std::max(in.screen.force_count, in.screen.potential_count);
    if (kind != forces::DevicePair::constant)
        launch_periodic_soft_pairs(queue, kind, potential, virial, in);
    else if (terms <= few)
        periodic::periodic_pairs::launch<float, forces::DevicePair::constant, few>(queue, in, potential, virial);
    else if (terms <= usual)
        periodic::periodic_pairs::launch<float, forces::DevicePair::constant, usual>(queue, in, potential, virial);
    else
        periodic::periodic_pairs::launch<float, forces::DevicePair::constant, 0>(queue, in, potential, virial);
}

} // namespace graft::periodic
