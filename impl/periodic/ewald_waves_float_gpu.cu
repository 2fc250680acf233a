// SPDX-License-Identifier: BSD-3-Clause
// The waves of a periodic box in float: the instances of ewald_waves_gpu.cuh.
#include "periodic/ewald_waves_gpu.cuh"

namespace graft::periodic {

void launch_structure_float(backend::Queue& queue, const PeriodicWaves& in) {
    periodic::periodic_waves::launch_structure<float>(queue, in);
}
void launch_waves_float(backend::Queue& queue, const PeriodicWaves& in) {
    periodic::periodic_waves::launch<float>(queue, in);
}

} // namespace graft::periodic
