// SPDX-License-Identifier: BSD-3-Clause
// GraftForce: what a user describes. Nothing is computed here.
#include "graft_force.hpp"

#include "force_impl.hpp"

#include <openmm/OpenMMException.h>

#include <algorithm>
#include <cmath>

namespace graft::openmm {

using OpenMM::NonbondedForce;
using OpenMM::OpenMMException;

namespace {

void check_finite(double value, const char* what) {
    if (!std::isfinite(value))
        throw OpenMMException(std::string("GraftForce: a ") + what + " of " + std::to_string(value) +
                              "; expected a finite number");
}

std::pair<int, int> ordered(int a, int b) {
    return {std::min(a, b), std::max(a, b)};
}

std::string pair_text(int a, int b) {
    return "particles " + std::to_string(a) + " and " + std::to_string(b);
}

void remove_electrostatics(NonbondedForce& nonbonded) {
    double charge, sigma, epsilon;
    for (int i = 0; i < nonbonded.getNumParticles(); ++i) {
        nonbonded.getParticleParameters(i, charge, sigma, epsilon);
        nonbonded.setParticleParameters(i, 0, sigma, epsilon);
    }
    for (int i = 0, a, b; i < nonbonded.getNumExceptions(); ++i) {
        nonbonded.getExceptionParameters(i, a, b, charge, sigma, epsilon);
        nonbonded.setExceptionParameters(i, a, b, 0, sigma, epsilon);
    }
    const NonbondedForce::NonbondedMethod method = nonbonded.getNonbondedMethod();
    if (method == NonbondedForce::Ewald || method == NonbondedForce::PME)
        nonbonded.setNonbondedMethod(NonbondedForce::CutoffPeriodic);
}

} // namespace

GraftForce::GraftForce() {
    setName("GraftForce");
}

std::string GraftForce::defaultDeck() {
    return "method: tree\nprecision: mixed\norder: 4\nmac: {type: error, accuracy: 1.0e-5}\n";
}

void GraftForce::checkParticle(int index, const char* what) const {
    if (index < 0 || index >= getNumParticles())
        throw OpenMMException("GraftForce: " + std::string(what) + " " + std::to_string(index) +
                              " does not exist; this force has " + std::to_string(getNumParticles()) +
                              " particles, counted from 0 (addParticle adds one)");
}

void GraftForce::checkException(int index) const {
    if (index < 0 || index >= getNumExceptions())
        throw OpenMMException("GraftForce: exception " + std::to_string(index) +
                              " does not exist; there are " + std::to_string(getNumExceptions()) +
                              ", counted from 0");
}

int GraftForce::addParticle(double charge) {
    check_finite(charge, "charge");
    charges_.push_back(charge);
    return getNumParticles() - 1;
}

double GraftForce::getParticleCharge(int index) const {
    checkParticle(index, "particle");
    return charges_[static_cast<std::size_t>(index)];
}

void GraftForce::setParticleCharge(int index, double charge) {
    checkParticle(index, "particle");
    check_finite(charge, "charge");
    charges_[static_cast<std::size_t>(index)] = charge;
}

int GraftForce::addException(int particle1, int particle2, double chargeProd, bool replace) {
    check_finite(chargeProd, "charge product");
    if (particle1 < 0 || particle2 < 0 || particle1 == particle2)
        throw OpenMMException("GraftForce: an exception of " + pair_text(particle1, particle2) +
                              "; expected two different particles, counted from 0");
    const auto found = exceptionOf_.find(ordered(particle1, particle2));
    if (found != exceptionOf_.end()) {
        if (!replace)
            throw OpenMMException("GraftForce: there is already an exception for " +
                                  pair_text(particle1, particle2) + " (number " +
                                  std::to_string(found->second) + "); replace = true changes it");
        exceptions_[static_cast<std::size_t>(found->second)] = {particle1, particle2, chargeProd};
        return found->second;
    }
    exceptions_.push_back({particle1, particle2, chargeProd});
    return exceptionOf_[ordered(particle1, particle2)] = getNumExceptions() - 1;
}

void GraftForce::getExceptionParameters(int index, int& particle1, int& particle2, double& chargeProd) const {
    checkException(index);
    const Exception& exception = exceptions_[static_cast<std::size_t>(index)];
    particle1 = exception.particle1;
    particle2 = exception.particle2;
    chargeProd = exception.chargeProd;
}

void GraftForce::setExceptionParameters(int index, int particle1, int particle2, double chargeProd) {
    checkException(index);
    Exception& exception = exceptions_[static_cast<std::size_t>(index)];
    if (ordered(particle1, particle2) != ordered(exception.particle1, exception.particle2)) {
        if (exceptionOf_.count(ordered(particle1, particle2)) != 0)
            throw OpenMMException("GraftForce: there is already an exception for " +
                                  pair_text(particle1, particle2));
        exceptionOf_.erase(ordered(exception.particle1, exception.particle2));
        exceptionOf_[ordered(particle1, particle2)] = index;
    }
    addException(particle1, particle2, chargeProd, true);
}

void GraftForce::moveElectrostatics(NonbondedForce& nonbonded) {
    if (nonbonded.getNumParticleParameterOffsets() > 0 || nonbonded.getNumExceptionParameterOffsets() > 0)
        throw OpenMMException(
            "GraftForce: moveElectrostatics of a NonbondedForce whose parameters have offsets by global "
            "parameters; expected none, since Graft's charges are numbers");
    if (getNumParticles() > 0)
        throw OpenMMException("GraftForce: moveElectrostatics into a force that has " +
                              std::to_string(getNumParticles()) +
                              " particles already; expected an empty one");
    GraftForce taken; // whatever throws below, both forces stay as they are
    double charge, sigma, epsilon;
    for (int i = 0; i < nonbonded.getNumParticles(); ++i) {
        nonbonded.getParticleParameters(i, charge, sigma, epsilon);
        taken.addParticle(charge);
    }
    for (int i = 0, a, b; i < nonbonded.getNumExceptions(); ++i) {
        nonbonded.getExceptionParameters(i, a, b, charge, sigma, epsilon);
        taken.addException(a, b, charge);
    }
    charges_ = std::move(taken.charges_);
    exceptions_ = std::move(taken.exceptions_);
    exceptionOf_ = std::move(taken.exceptionOf_);
    remove_electrostatics(nonbonded);
    setUsesPeriodicBoundaryConditions(nonbonded.usesPeriodicBoundaryConditions());
    setExceptionsUsePeriodicBoundaryConditions(nonbonded.getExceptionsUsePeriodicBoundaryConditions());
}

void GraftForce::updateParametersInContext(OpenMM::Context& context) {
    dynamic_cast<GraftForceImpl&>(getImplInContext(context)).update(getContextImpl(context));
}

double GraftForce::getFigure(OpenMM::Context& context, const std::string& key) const {
    return dynamic_cast<const GraftForceImpl&>(getImplInContext(context)).figure(key);
}

std::string GraftForce::getReport(OpenMM::Context& context) const {
    return dynamic_cast<const GraftForceImpl&>(getImplInContext(context)).report();
}

std::string GraftForce::getLog(OpenMM::Context& context) const {
    return dynamic_cast<const GraftForceImpl&>(getImplInContext(context)).log();
}

OpenMM::ForceImpl* GraftForce::createImpl() const {
    registerGraft(); // platforms may have been loaded after this plugin
    return new GraftForceImpl(*this);
}

} // namespace graft::openmm
