// SPDX-License-Identifier: BSD-3-Clause
// What a platform does for a GraftForce: it knows where positions, forces and box are, and hands them to the
// Calculator.
#ifndef GRAFT_OPENMM_KERNEL_HPP
#define GRAFT_OPENMM_KERNEL_HPP

#include "graft_force.hpp"

#include <openmm/KernelImpl.h>
#include <openmm/Platform.h>

#include <string>

namespace OpenMM {
class ContextImpl;
}

namespace graft::openmm {

class Calculator;

class GRAFT_OPENMM_EXPORT CalcGraftForceKernel : public OpenMM::KernelImpl {
  public:
    static std::string Name() { return "CalcGraftForce"; }
    using OpenMM::KernelImpl::KernelImpl;
    /// Once, before the Context has positions.
    virtual void initialize(const Calculator&) {}
    /// Adds this force's share to the forces of the context where wanted; returns the energy, or 0 where it
    /// is not wanted.
    virtual double execute(OpenMM::ContextImpl& context, Calculator& calculator, bool forces,
                           bool energy) = 0;
};

} // namespace graft::openmm
#endif
