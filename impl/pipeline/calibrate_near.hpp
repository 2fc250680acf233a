// Measuring the near field's layouts for the machine file (model/near_machine.hpp).
#pragma once

#include "model/machine.hpp"
#include "model/near_calibrate.hpp"

#include <cstdint>
#include <vector>

namespace graft::pipeline {

/// A share of what is measured of the CPU's layouts and kernels, on one thread by its own time: structures of
/// 600 to 600,000 points in so many dimensions, in fp32, or in fp64 and mixed. 2 to 4 s each; they may be
/// measured side by side.
struct NearCpuPiece {
    int32_t dimension;
    bool in_double;
    std::vector<model::NearKernelCosts> kernels;
    std::vector<std::vector<model::NearSample>> samples; // of each layout
};
std::vector<NearCpuPiece> near_cpu_pieces();
void measure_near_cpu(NearCpuPiece& piece, const model::Machine& machine, int repetitions);
/// From all pieces to machine.near. Needs the numbers of machine.cpu.
void fit_near_cpu(model::Machine& machine, const std::vector<NearCpuPiece>& pieces);

/// Those of the GPU, through libgraft_cuda. Throws Error(device), Error(unsupported) where the library has
/// none.
void calibrate_near_gpu(model::Machine& machine, int32_t device, int repetitions);

} // namespace graft::pipeline
