// SPDX-License-Identifier: BSD-3-Clause
// Version 1: properties version, forceGroup, name, periodic, exceptionsUsePeriodic, deck; children Particles
// (q) and Exceptions (p1, p2, q). Numbers are written so that they read back to the same bits (OpenMM does
// that).
#include "force_proxy.hpp"

#include "graft_force.hpp"

#include <openmm/OpenMMException.h>
#include <openmm/serialization/SerializationNode.h>

#include <memory>
#include <sstream>

namespace graft::openmm {

using OpenMM::SerializationNode;

void GraftForceProxy::serialize(const void* object, SerializationNode& node) const {
    const auto& force = *static_cast<const GraftForce*>(object);
    node.setIntProperty("version", 1);
    node.setIntProperty("forceGroup", force.getForceGroup());
    node.setStringProperty("name", force.getName());
    node.setBoolProperty("periodic", force.usesPeriodicBoundaryConditions());
    node.setBoolProperty("exceptionsUsePeriodic", force.getExceptionsUsePeriodicBoundaryConditions());
    // A child a line: XML readers turn line breaks inside a property into blanks.
    SerializationNode& deck = node.createChildNode("Deck");
    std::istringstream lines(force.getDeck() + "\n"); // an end of line at the end makes an empty last line
    for (std::string line; std::getline(lines, line);)
        deck.createChildNode("Line").setStringProperty("text", line);
    SerializationNode& particles = node.createChildNode("Particles");
    for (int i = 0; i < force.getNumParticles(); ++i)
        particles.createChildNode("Particle").setDoubleProperty("q", force.getParticleCharge(i));
    SerializationNode& exceptions = node.createChildNode("Exceptions");
    for (int i = 0, a, b; i < force.getNumExceptions(); ++i) {
        double product;
        force.getExceptionParameters(i, a, b, product);
        exceptions.createChildNode("Exception")
            .setIntProperty("p1", a)
            .setIntProperty("p2", b)
            .setDoubleProperty("q", product);
    }
}

void* GraftForceProxy::deserialize(const SerializationNode& node) const {
    const int version = node.getIntProperty("version");
    if (version != 1)
        throw OpenMM::OpenMMException("GraftForce: XML of version " + std::to_string(version) +
                                      "; this plugin reads version 1");
    auto force = std::make_unique<GraftForce>();
    force->setForceGroup(node.getIntProperty("forceGroup", 0));
    force->setName(node.getStringProperty("name", force->getName()));
    force->setUsesPeriodicBoundaryConditions(node.getBoolProperty("periodic"));
    force->setExceptionsUsePeriodicBoundaryConditions(node.getBoolProperty("exceptionsUsePeriodic", false));
    std::string deck;
    for (const SerializationNode& line : node.getChildNode("Deck").getChildren())
        deck += (&line == &node.getChildNode("Deck").getChildren().front() ? "" : "\n") +
                line.getStringProperty("text");
    force->setDeck(deck);
    for (const SerializationNode& particle : node.getChildNode("Particles").getChildren())
        force->addParticle(particle.getDoubleProperty("q"));
    for (const SerializationNode& pair : node.getChildNode("Exceptions").getChildren())
        force->addException(pair.getIntProperty("p1"), pair.getIntProperty("p2"),
                            pair.getDoubleProperty("q"));
    return force.release();
}

} // namespace graft::openmm
