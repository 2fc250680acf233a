// The engine's part of libgraft_cuda.so's table.
#pragma once

#include "pipeline/device_force.hpp"

namespace graft::pipeline {

const DeviceForceTable* device_force_table();

} // namespace graft::pipeline
