// The engine's part of libgraft_cuda.so's table.
#pragma once

#include "pipeline/device_force.hpp"
#include "pipeline/device_ranks.hpp"

namespace graft::pipeline {

class DeviceForce;

const DeviceForceTable* device_force_table();
const DeviceRanksTable* device_ranks_table();
/// What stands behind the engine that create() gave.
DeviceForce& force_of(void* engine);

} // namespace graft::pipeline
