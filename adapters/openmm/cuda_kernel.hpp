// SPDX-License-Identifier: BSD-3-Clause
// The kernel of the CUDA platform. Positions are gathered on the GPU, in the order of the System and in
// double precision whatever the Context's. Graft computes from there, on the same GPU and in OpenMM's CUDA
// context, and nothing of the particles leaves the device; forces are added in OpenMM's fixed point, and so
// are the exceptions' corrections, so that the same positions give the same bits. Where Graft's deck wants
// the processor, or the box is one that GPUs do not do, positions and forces go through the host's memory.
//
// Invariants: OpenMM sorts particles anew every few hundred steps and moves whole molecules by box vectors;
// the exceptions tell it which particles must move together. Nothing is added before Graft has succeeded.
#ifndef GRAFT_OPENMM_CUDA_KERNEL_HPP
#define GRAFT_OPENMM_CUDA_KERNEL_HPP

#include "calculator.hpp"
#include "kernel.hpp"

#include <openmm/KernelFactory.h>
#include <openmm/Vec3.h>
#include <openmm/common/ComputeArray.h>
#include <openmm/common/ComputeEvent.h>
#include <openmm/common/ComputeQueue.h>
#include <openmm/cuda/CudaContext.h>

#include <vector>

namespace graft::openmm {

class CudaCalcGraftForceKernel : public CalcGraftForceKernel {
  public:
    CudaCalcGraftForceKernel(const std::string& name, const OpenMM::Platform& platform,
                             OpenMM::CudaContext& device);
    void initialize(const Calculator& calculator) override;
    double execute(OpenMM::ContextImpl& context, Calculator& calculator, bool forces, bool energy) override;

  private:
    void make_arrays(const Calculator& calculator);
    void make_kernels(const Calculator& calculator);
    void send_charges(const Calculator& calculator);
    double correct(const Calculator& calculator, bool forces, bool energy, const OpenMM::Vec3 box[3]);
    double through_host(Calculator& calculator, bool forces, bool energy, const OpenMM::Vec3 box[3]);
    OpenMM::CudaContext& device_;
    OpenMM::ComputeQueue queue_; // Graft's
    OpenMM::ComputeEvent ready_;
    OpenMM::ComputeArray place_, push_, charge_; // in the System's order, doubles
    OpenMM::ComputeArray slot_;                  // where OpenMM keeps each particle
    OpenMM::ComputeArray pair_, product_, pair_energy_;
    OpenMM::ComputeKernel gather_, add_, correct_;
    std::vector<OpenMM::Vec3> positions_, forces_;
    std::vector<double> energies_;
    int revision_ = 0, pairs_ = 0; // of charges and corrections on the device
};

class CudaGraftKernelFactory : public OpenMM::KernelFactory {
  public:
    OpenMM::KernelImpl* createKernelImpl(std::string name, const OpenMM::Platform& platform,
                                         OpenMM::ContextImpl& context) const override;
};

} // namespace graft::openmm
#endif
