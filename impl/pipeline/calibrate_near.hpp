// Measuring the near field's layouts for the machine file (model/near_machine.hpp).
#pragma once

#include "model/machine.hpp"

#include <cstdint>

namespace graft::pipeline {

/// The CPU's layouts and kernels on one thread, on structures of 2,000 to 400,000 points; about 8 s. Needs
/// the cache sizes of machine.cpu.
void calibrate_near_cpu(model::Machine& machine, int repetitions);
} // namespace graft::pipeline
