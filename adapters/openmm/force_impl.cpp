// SPDX-License-Identifier: BSD-3-Clause
// Checks a GraftForce against its System when a Context is made, and calls the kernel for the force groups
// asked for.
#include "force_impl.hpp"

#include <openmm/System.h>
#include <openmm/internal/ContextImpl.h>

#include <chrono>

namespace graft::openmm {

void GraftForceImpl::initialize(OpenMM::ContextImpl& context) {
    calculator_ = std::make_unique<Calculator>(owner_, context.getSystem().getNumParticles());
    kernel_ = context.getPlatform().createKernel(CalcGraftForceKernel::Name(), context);
    kernel_.getAs<CalcGraftForceKernel>().initialize(*calculator_);
}

double GraftForceImpl::calcForcesAndEnergy(OpenMM::ContextImpl& context, bool forces, bool energy,
                                           int groups) {
    if ((groups & (1 << group_)) == 0)
        return 0;
    const auto begin = std::chrono::steady_clock::now();
    const double sum = kernel_.getAs<CalcGraftForceKernel>().execute(context, *calculator_, forces, energy);
    calculator_->count_call(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    return sum;
}

void GraftForceImpl::update(OpenMM::ContextImpl& context) {
    calculator_->update(owner_);
    context.systemChanged();
}

} // namespace graft::openmm
