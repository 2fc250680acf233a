// SPDX-License-Identifier: BSD-3-Clause
// The CPU platform is a Reference platform with faster kernels: it keeps the same double positions, and adds
// what is in the Reference forces to its own, so one kernel serves both.
#include "reference_kernel.hpp"

#include "calculator.hpp"

#include <openmm/OpenMMException.h>
#include <openmm/internal/ContextImpl.h>
#include <openmm/reference/ReferencePlatform.h>

namespace graft::openmm {

double ReferenceCalcGraftForceKernel::execute(OpenMM::ContextImpl& context, Calculator& calculator,
                                              bool forces, bool energy) {
    const auto& data =
        *static_cast<const OpenMM::ReferencePlatform::PlatformData*>(context.getPlatformData());
    return calculator.compute(data.positions->data(), forces ? data.forces->data() : nullptr, energy,
                              data.periodicBoxVectors);
}

OpenMM::KernelImpl* ReferenceGraftKernelFactory::createKernelImpl(std::string name,
                                                                  const OpenMM::Platform& platform,
                                                                  OpenMM::ContextImpl&) const {
    if (name == CalcGraftForceKernel::Name())
        return new ReferenceCalcGraftForceKernel(name, platform);
    throw OpenMM::OpenMMException("GraftForce: asked for a kernel '" + name + "'; there is only " +
                                  CalcGraftForceKernel::Name());
}

} // namespace graft::openmm
