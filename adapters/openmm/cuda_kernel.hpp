// The kernel of the CUDA platform. Positions are gathered on the GPU, in the order of the System and in
// double precision whatever the Context's, brought to the host and handed to the Calculator; forces go the
// same way back and are added in OpenMM's fixed point. Graft itself may compute on the GPU: its deck says.
//
// Invariant: OpenMM sorts particles anew every few hundred steps and moves whole molecules by box vectors;
// the exceptions tell it which particles must move together.
#ifndef GRAFT_OPENMM_CUDA_KERNEL_HPP
#define GRAFT_OPENMM_CUDA_KERNEL_HPP

#include "kernel.hpp"

#include <openmm/KernelFactory.h>
#include <openmm/Vec3.h>
#include <openmm/common/ComputeArray.h>
#include <openmm/common/ComputeContext.h>

#include <vector>

namespace graft::openmm {

class CudaCalcGraftForceKernel : public CalcGraftForceKernel {
  public:
    CudaCalcGraftForceKernel(const std::string& name, const OpenMM::Platform& platform,
                             OpenMM::ComputeContext& device);
    void initialize(const Calculator& calculator) override;
    double execute(OpenMM::ContextImpl& context, Calculator& calculator, bool forces, bool energy) override;

  private:
    void make_kernels();
    OpenMM::ComputeContext& device_;
    OpenMM::ComputeArray place_, push_; // 3 doubles a particle, in the System's order
    OpenMM::ComputeKernel gather_, add_;
    std::vector<OpenMM::Vec3> positions_, forces_;
};

class CudaGraftKernelFactory : public OpenMM::KernelFactory {
  public:
    OpenMM::KernelImpl* createKernelImpl(std::string name, const OpenMM::Platform& platform,
                                         OpenMM::ContextImpl& context) const override;
};

} // namespace graft::openmm
#endif
