// SPDX-License-Identifier: BSD-3-Clause
// The waves of a periodic box in double: the instances of ewald_waves_gpu.cuh.
#include "periodic/ewald_waves_gpu.cuh"

namespace graft::periodic {

void launch_structure_double(backend::Queue& queue, const PeriodicWaves& in) {
    periodic::periodic_waves::launch_structure<double>(queue, in);
}
void launch_waves_double(backend::Queue& queue, const PeriodicWaves& in) {
    periodic::periodic_waves::launch<double>(queue, in);
}

} // namespace graft::periodic
