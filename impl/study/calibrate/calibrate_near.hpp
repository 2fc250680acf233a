// SPDX-License-Identifier: BSD-3-Clause
// Measuring the near field's layouts for the machine file (model/near_machine.hpp).
#pragma once

#include "model/machine.hpp"
#include "study/calibrate/near_fit.hpp"

#include <cstdint>
#include <vector>

namespace graft::study {

/// A share of what is measured of the CPU's layouts and kernels, on one thread by its own time: structures of
/// 600 to 600,000 points in so many dimensions, in fp32, or in fp64 and mixed. 2 to 4 s each; they may be
/// measured side by side.
struct NearCpuShare {
    int32_t dimension;
    bool in_double;
    std::vector<model::NearKernelCosts> kernels;
    std::vector<std::vector<NearSample>> samples; // of each layout
};
std::vector<NearCpuShare> near_cpu_pieces();
void measure_near_cpu(NearCpuShare& piece, const model::Machine& machine, int repetitions);
/// From all pieces to machine.near. Needs the numbers of machine.cpu.
void fit_near_cpu(model::Machine& machine, const std::vector<NearCpuShare>& pieces);

/// Seconds of the GPU's kernels, which its host hardly disturbs, through libgraft_cuda. Needs machine.gpu.
/// Throws Error(device), Error(unsupported) where the library has none.
void calibrate_near_kernels(model::Machine& machine, int32_t device, int repetitions);
/// Those of its layouts, after its kernels and the link; errors as above. No layout that takes more memory
/// than the library keeps for the next plan (near_kept_bytes): what the driver takes for it says nothing of
/// Graft, and while other processes use the host's GPUs it takes longer than all else.
void calibrate_near_gpu(model::Machine& machine, int32_t device);

} // namespace graft::study
