// The waves of a periodic box in float: the instances of device_periodic_waves.cuh.
#include "kernels/device_periodic_waves.cuh"

namespace graft::kernels {

void launch_structure_float(backend::Queue& queue, const PeriodicWaves& in) {
    periodic_waves::launch_structure<float>(queue, in);
}
void launch_waves_float(backend::Queue& queue, const PeriodicWaves& in) {
    periodic_waves::launch<float>(queue, in);
}

} // namespace graft::kernels
