// The engine's part of libgraft_cuda.so's table.
#pragma once

#include "pipeline/device_force.hpp"
#include "pipeline/device_ranks.hpp"

namespace graft::pipeline {

const DeviceForceTable* device_force_table();
const DeviceRanksTable* device_ranks_table();

} // namespace graft::pipeline
