// SPDX-License-Identifier: BSD-3-Clause
// The kernel of the platforms Reference and CPU: positions and forces are doubles in the host's memory.
#ifndef GRAFT_OPENMM_REFERENCE_KERNEL_HPP
#define GRAFT_OPENMM_REFERENCE_KERNEL_HPP

#include "kernel.hpp"

#include <openmm/KernelFactory.h>

namespace graft::openmm {

class ReferenceCalcGraftForceKernel : public CalcGraftForceKernel {
  public:
    using CalcGraftForceKernel::CalcGraftForceKernel;
    double execute(OpenMM::ContextImpl& context, Calculator& calculator, bool forces, bool energy) override;
};

class ReferenceGraftKernelFactory : public OpenMM::KernelFactory {
  public:
    OpenMM::KernelImpl* createKernelImpl(std::string name, const OpenMM::Platform& platform,
                                         OpenMM::ContextImpl& context) const override;
};

} // namespace graft::openmm
#endif
