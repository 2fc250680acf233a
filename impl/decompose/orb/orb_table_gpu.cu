// SPDX-License-Identifier: BSD-3-Clause
// The table of ORB on the device, see orb_table.hpp.
#include "decompose/orb/orb_table.hpp"

#include "decompose/orb/gpu/orb_host_arrays_gpu.cuh"
#include "decompose/points/point_records_table.hpp"

namespace graft::decompose {

const DeviceOrbTable& device_orb_table() {
    static const DeviceOrbTable table = {sizeof(DeviceOrbTable), 0, orb_create, orb_release, orb_solve,
                                         &device_records_table()};
    return table;
}

} // namespace graft::decompose
