// Measuring the near field's layouts for the machine file (model/near_machine.hpp).
#pragma once

#include "model/machine.hpp"

#include <cstdint>

namespace graft::pipeline {

/// The CPU's layouts and kernels on one thread by its own time, on structures of 600 to 120,000 points; about
/// 10 s. Needs the cache sizes of machine.cpu.
void calibrate_near_cpu(model::Machine& machine, int repetitions);
/// Those of the GPU, through libgraft_cuda. Throws Error(device), Error(unsupported) where the library has none.
void calibrate_near_gpu(model::Machine& machine, int32_t device, int repetitions);

} // namespace graft::pipeline
