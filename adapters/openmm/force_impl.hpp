// SPDX-License-Identifier: BSD-3-Clause
// A GraftForce in one Context: a Calculator, and the platform's way to positions and forces.
#ifndef GRAFT_OPENMM_FORCE_IMPL_HPP
#define GRAFT_OPENMM_FORCE_IMPL_HPP

#include "calculator.hpp"
#include "graft_force.hpp"
#include "kernel.hpp"

#include <openmm/Kernel.h>
#include <openmm/internal/ForceImpl.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace graft::openmm {

class GraftForceImpl : public OpenMM::ForceImpl {
  public:
    explicit GraftForceImpl(const GraftForce& owner) : owner_(owner), group_(owner.getForceGroup()) {}
    void initialize(OpenMM::ContextImpl& context) override;
    const GraftForce& getOwner() const override { return owner_; }
    void updateContextState(OpenMM::ContextImpl&, bool&) override {} // forces only, no state
    double calcForcesAndEnergy(OpenMM::ContextImpl& context, bool forces, bool energy, int groups) override;
    std::map<std::string, double> getDefaultParameters() override { return {}; }
    std::vector<std::string> getKernelNames() override { return {CalcGraftForceKernel::Name()}; }

    void update(OpenMM::ContextImpl& context);
    double figure(const std::string& key) const { return calculator_->figure(key); }
    std::string report() const { return calculator_->report(); }
    std::string log() const { return calculator_->log(); }

  private:
    const GraftForce& owner_;
    int group_; // that of the time the Context was made, as OpenMM's own forces have it
    OpenMM::Kernel kernel_;
    std::unique_ptr<Calculator> calculator_;
};

} // namespace graft::openmm
#endif
