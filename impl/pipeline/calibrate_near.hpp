// Measuring the near field's layouts for the machine file (model/near_machine.hpp).
#pragma once

#include "model/machine.hpp"

#include <cstdint>

namespace graft::pipeline {

/// The CPU's layouts and kernels of fp32, or of fp64 and mixed, on one thread by its own time, on structures
/// of 600 to 600,000 points; about 5 s. Needs the numbers of machine.cpu.
void calibrate_near_cpu(model::Machine& machine, bool in_double, int repetitions);
/// Those of the GPU, through libgraft_cuda. Throws Error(device), Error(unsupported) where the library has
/// none.
void calibrate_near_gpu(model::Machine& machine, int32_t device, int repetitions);

} // namespace graft::pipeline
