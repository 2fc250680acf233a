// The table of measurements, see device_bench.hpp.
#include "kernels/device_bench.cuh"

namespace graft::kernels {

const DeviceBenchTable& device_bench_table() {
    static const DeviceBenchTable table = {sizeof(DeviceBenchTable),
                                           0,
                                           measure_rates,
                                           measure_link,
                                           measure_peer,
                                           measure_pairs,
                                           make_cloud,
                                           fill_bytes};
    return table;
}

} // namespace graft::kernels
