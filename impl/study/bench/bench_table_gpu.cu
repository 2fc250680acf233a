// SPDX-License-Identifier: BSD-3-Clause
// The table of measurements, see bench_table.hpp.
#include "study/bench/bench_table_gpu.cuh"

namespace graft::study {

const DeviceBenchTable& device_bench_table() {
    static const DeviceBenchTable table = {sizeof(DeviceBenchTable),
                                           0,
                                           measure_rates,
                                           measure_link,
                                           measure_peer,
                                           measure_pairs,
                                           make_cloud,
                                           fill_bytes,
                                           measure_orb};
    return table;
}

} // namespace graft::study
