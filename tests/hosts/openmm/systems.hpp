// SPDX-License-Identifier: BSD-3-Clause
// Systems and Contexts for the tests of the OpenMM plugin: rigid SPC/E water (Berendsen 1987), a sodium
// chloride melt (charges of 1 e, Lennard-Jones of Smith & Dang 1994), random charges. Everything is made from
// a seed; lengths in nm, energies in kJ/mol.
#ifndef GRAFT_TESTS_HOSTS_OPENMM_SYSTEMS_HPP
#define GRAFT_TESTS_HOSTS_OPENMM_SYSTEMS_HPP

#include "graft_force.hpp"

#include <OpenMM.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace graft::openmm::tests {

using OpenMM::Vec3;

/// What a force is made of: charges and exceptions, so that Graft's and OpenMM's force get the same. Owns no
/// System.
struct Matter {
    std::vector<Vec3> positions;
    std::vector<double> masses, charges, sigmas, epsilons;
    std::vector<std::array<int, 3>> water;                          // oxygen, hydrogens: rigid
    std::vector<std::pair<std::pair<int, int>, double>> exceptions; // charge products
    std::array<Vec3, 3> box{Vec3(4, 0, 0), Vec3(0, 4, 0), Vec3(0, 0, 4)};
    int size() const { return static_cast<int>(positions.size()); }
    void add(const Vec3& at, double mass, double charge, double sigma = 0.1, double epsilon = 0) {
        positions.push_back(at);
        masses.push_back(mass);
        charges.push_back(charge);
        sigmas.push_back(sigma);
        epsilons.push_back(epsilon);
    }
};

class Random {
  public:
    explicit Random(unsigned seed) : engine_(seed) {}
    double uniform(double low = 0, double high = 1) {
        return low + (high - low) * std::uniform_real_distribution<double>()(engine_);
    }
    Vec3 direction() {
        std::normal_distribution<double> normal;
        Vec3 d(normal(engine_), normal(engine_), normal(engine_));
        return d / std::sqrt(d.dot(d));
    }

  private:
    std::mt19937_64 engine_;
};

inline void set_cubic(Matter& matter, double edge) {
    matter.box = {Vec3(edge, 0, 0), Vec3(0, edge, 0), Vec3(0, 0, edge)};
}

/// cells^3 molecules, randomly turned, on a cubic lattice of liquid density.
inline Matter water(int cells, unsigned seed = 1) {
    Matter matter;
    Random random(seed);
    const double spacing = 0.3104, bond = 0.1, half_angle = 0.5 * std::acos(-1.0 / 3.0);
    set_cubic(matter, cells * spacing);
    for (int i = 0; i < cells * cells * cells; ++i) {
        const Vec3 oxygen = Vec3(i % cells, i / cells % cells, i / cells / cells) * spacing;
        const Vec3 axis = random.direction();
        Vec3 side = axis.cross(random.direction());
        side *= 1 / std::sqrt(side.dot(side));
        const int first = matter.size();
        matter.add(oxygen, 15.9994, -0.8476, 0.316557, 0.650194);
        for (double sign : {-1.0, 1.0})
            matter.add(oxygen + axis * (bond * std::cos(half_angle)) +
                           side * (sign * bond * std::sin(half_angle)),
                       1.008, 0.4238);
        matter.water.push_back({first, first + 1, first + 2});
        matter.exceptions.push_back({{first, first + 1}, 0});
        matter.exceptions.push_back({{first, first + 2}, 0});
        matter.exceptions.push_back({{first + 1, first + 2}, 0});
    }
    return matter;
}

/// cells^3 ions (an even number of cells), displaced from the rock-salt lattice.
inline Matter melt(int cells, double displacement = 0.05, unsigned seed = 2) {
    Matter matter;
    Random random(seed);
    const double spacing = 0.2959; // 1.5 g/cm^3 at 58.44 g/mol
    set_cubic(matter, cells * spacing);
    for (int i = 0; i < cells * cells * cells; ++i) {
        const int x = i % cells, y = i / cells % cells, z = i / cells / cells;
        const Vec3 at = Vec3(x, y, z) * spacing + random.direction() * (displacement * random.uniform());
        if ((x + y + z) % 2 == 0)
            matter.add(at, 22.98977, 1, 0.2350, 0.5443);
        else
            matter.add(at, 35.453, -1, 0.4400, 0.4184);
    }
    return matter;
}

/// n charges of either sign anywhere in a cube of `edge`, kept 0.1 nm apart; every third pair of neighbours
/// in number has an exception.
inline Matter cloud(int n, double edge = 2, unsigned seed = 3) {
    Matter matter;
    Random random(seed);
    set_cubic(matter, edge);
    while (matter.size() < n) {
        const Vec3 at(random.uniform(0, edge), random.uniform(0, edge), random.uniform(0, edge));
        bool free = true;
        for (const Vec3& other : matter.positions)
            free = free && (at - other).dot(at - other) > 0.01;
        if (free)
            matter.add(at, 10, random.uniform(-1, 1));
    }
    for (int i = 0; i + 2 < n; i += 3) {
        matter.exceptions.push_back({{i, i + 1}, 0});
        matter.exceptions.push_back({{i + 2, i}, 0.5 * matter.charges[i] * matter.charges[i + 2]});
    }
    return matter;
}

inline std::unique_ptr<GraftForce> graft_force(const Matter& matter, bool periodic,
                                               const std::string& deck = "") {
    auto force = std::make_unique<GraftForce>();
    for (double charge : matter.charges)
        force->addParticle(charge);
    for (const auto& [pair, product] : matter.exceptions)
        force->addException(pair.first, pair.second, product);
    force->setUsesPeriodicBoundaryConditions(periodic);
    force->setDeck(deck);
    return force;
}

/// OpenMM's own force: electrostatics and/or Lennard-Jones.
inline std::unique_ptr<OpenMM::NonbondedForce> nonbonded(const Matter& matter,
                                                         OpenMM::NonbondedForce::NonbondedMethod method,
                                                         double tolerance, bool electrostatics,
                                                         bool lennard_jones) {
    auto force = std::make_unique<OpenMM::NonbondedForce>();
    for (int i = 0; i < matter.size(); ++i)
        force->addParticle(electrostatics ? matter.charges[i] : 0, matter.sigmas[i],
                           lennard_jones ? matter.epsilons[i] : 0);
    for (const auto& [pair, product] : matter.exceptions)
        force->addException(pair.first, pair.second, electrostatics ? product : 0, 1, 0);
    force->setNonbondedMethod(method);
    force->setCutoffDistance(std::min(0.9, 0.4999 * matter.box[0][0]));
    force->setEwaldErrorTolerance(tolerance);
    force->setUseDispersionCorrection(false);
    return force;
}

/// A System with these forces (it takes them over) and a Context at matter's positions.
class Simulation {
  public:
    Simulation(const Matter& matter, std::vector<std::unique_ptr<OpenMM::Force>> forces,
               const std::string& platform = "Reference", double step_ps = 0.001)
        : integrator_(step_ps) {
        integrator_.setConstraintTolerance(1e-10);
        system_.setDefaultPeriodicBoxVectors(matter.box[0], matter.box[1], matter.box[2]);
        for (double mass : matter.masses)
            system_.addParticle(mass);
        const double bond = 0.1, across = 2 * bond * std::sin(0.5 * std::acos(-1.0 / 3.0));
        for (const auto& w : matter.water) {
            system_.addConstraint(w[0], w[1], bond);
            system_.addConstraint(w[0], w[2], bond);
            system_.addConstraint(w[1], w[2], across);
        }
        for (auto& force : forces)
            system_.addForce(force.release());
        context_ = std::make_unique<OpenMM::Context>(system_, integrator_,
                                                     OpenMM::Platform::getPlatformByName(platform));
        context_->setPositions(matter.positions);
    }
    template <class Force>
    static Simulation of(const Matter& matter, std::unique_ptr<Force> force,
                         const std::string& platform = "Reference") {
        std::vector<std::unique_ptr<OpenMM::Force>> forces;
        forces.push_back(std::move(force));
        return Simulation(matter, std::move(forces), platform);
    }
    Simulation(const Simulation&) = delete;
    OpenMM::State state(int groups = -1) {
        return context_->getState(OpenMM::State::Forces | OpenMM::State::Energy | OpenMM::State::Positions |
                                      OpenMM::State::Velocities,
                                  false, groups);
    }
    OpenMM::System& system() { return system_; }
    OpenMM::Context& context() { return *context_; }
    OpenMM::Integrator& integrator() { return integrator_; }
    GraftForce& graft() { return dynamic_cast<GraftForce&>(system_.getForce(0)); }

  private:
    OpenMM::System system_;
    OpenMM::VerletIntegrator integrator_;
    std::unique_ptr<OpenMM::Context> context_; // after what it refers to
};

/// rms of the difference over rms of `expected`.
inline double relative_error(const std::vector<Vec3>& found, const std::vector<Vec3>& expected) {
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const Vec3 d = found[i] - expected[i];
        difference += d.dot(d);
        size += expected[i].dot(expected[i]);
    }
    return std::sqrt(difference / size);
}

} // namespace graft::openmm::tests
#endif
