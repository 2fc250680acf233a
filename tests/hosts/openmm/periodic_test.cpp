// SPDX-License-Identifier: BSD-3-Clause
// GraftForce with periodic images against NonbondedForce: Ewald sums on the Reference platform, whose
// tolerance is set so tight that they are exact next to what is asked of us (rms force error 1e-5 of the rms
// force; the sums agree to 1e-8 among themselves).
#include "systems.hpp"

#include <gtest/gtest.h>

namespace graft::openmm::tests {
namespace {

using OpenMM::NonbondedForce;
using OpenMM::State;

const char* exact = "{method: direct, precision: fp64}";

State ewald(const Matter& matter) {
    Simulation run(Simulation::of(matter, nonbonded(matter, NonbondedForce::Ewald, 1e-9, true, false)));
    return run.state();
}

/// Energies to `tolerance` of what the liquid has, 40 kJ/mol a molecule: lattices of molecules that point
/// anywhere have next to none.
void expect_agreement(const State& found, const State& expected, double tolerance) {
    EXPECT_LT(relative_error(found.getForces(), expected.getForces()), tolerance);
    const double molecules = static_cast<double>(expected.getForces().size()) / 3;
    const double scale = std::max(std::abs(expected.getPotentialEnergy()), 40 * molecules);
    EXPECT_NEAR(found.getPotentialEnergy(), expected.getPotentialEnergy(), tolerance * scale);
}

TEST(Periodic, WaterOnBothPlatforms) {
    const Matter matter = water(5);
    const State expected = ewald(matter);
    for (const char* platform : {"Reference", "CPU"})
        for (const auto& [deck, tolerance] : {std::pair("", 1e-5), std::pair(exact, 1e-7)}) {
            SCOPED_TRACE(std::string(platform) + " " + deck);
            Simulation run(Simulation::of(matter, graft_force(matter, true, deck), platform));
            expect_agreement(run.state(), expected, tolerance);
        }
}

TEST(Periodic, IonMelt) {
    const Matter matter = melt(8);
    const State expected = ewald(matter);
    for (const auto& [deck, tolerance] : {std::pair("", 1e-5), std::pair(exact, 1e-7)}) {
        SCOPED_TRACE(deck);
        Simulation run(Simulation::of(matter, graft_force(matter, true, deck)));
        expect_agreement(run.state(), expected, tolerance);
    }
}

/// The same crystal in the rectangular box edge x 2 edge x 4 edge: OpenMM's Ewald sums know no other, and its
/// PME is not good enough.
Matter rectangular(const Matter& tilted) {
    Matter matter;
    const double edge = tilted.box[0][0];
    matter.box = {Vec3(edge, 0, 0), Vec3(0, 2 * edge, 0), Vec3(0, 0, 4 * edge)};
    for (int copy = 0; copy < 8; ++copy) {
        const int first = matter.size();
        for (int i = 0; i < tilted.size(); ++i)
            matter.add(tilted.positions[i] + tilted.box[1] * (copy % 2) + tilted.box[2] * (copy / 2),
                       tilted.masses[i], tilted.charges[i]);
        for (const auto& [pair, product] : tilted.exceptions)
            matter.exceptions.push_back({{first + pair.first, first + pair.second}, product});
    }
    return matter;
}

TEST(Periodic, TriclinicBox) {
    Matter matter = water(4);
    const double edge = matter.box[0][0];
    matter.box = {Vec3(edge, 0, 0), Vec3(0.5 * edge, edge, 0), Vec3(0.5 * edge, 0.5 * edge, edge)};
    const State expected = ewald(rectangular(matter));
    for (const auto& [deck, tolerance] : {std::pair("", 1e-5), std::pair(exact, 1e-7)}) {
        SCOPED_TRACE(deck);
        Simulation run(Simulation::of(matter, graft_force(matter, true, deck)));
        const State found = run.state();
        std::vector<Vec3> forces = expected.getForces();
        forces.resize(found.getForces().size());
        EXPECT_LT(relative_error(found.getForces(), forces), tolerance);
        EXPECT_NEAR(found.getPotentialEnergy(), expected.getPotentialEnergy() / 8,
                    tolerance * 40 * matter.size() / 3);
    }
}

TEST(Periodic, TheBoxOfTheMomentCounts) {
    Matter matter = melt(6);
    Simulation run(Simulation::of(matter, graft_force(matter, true, exact)));
    const double before = run.state().getPotentialEnergy();
    for (Vec3& edge : matter.box)
        edge *= 1.05;
    run.context().setPeriodicBoxVectors(matter.box[0], matter.box[1], matter.box[2]);
    expect_agreement(run.state(), ewald(matter), 1e-7);
    EXPECT_NE(run.state().getPotentialEnergy(), before);
}

TEST(Periodic, PositionsOutsideTheBoxAndExceptionsAcrossIt) {
    Matter matter = water(4);
    const State expected = ewald(matter);
    Matter whole = matter; // molecules moved by whole edges
    for (const auto& molecule : whole.water)
        for (int atom : molecule)
            whole.positions[atom] += whole.box[molecule[0] % 3] * (molecule[0] % 5 - 2);
    Simulation moved(Simulation::of(whole, graft_force(whole, true, exact)));
    expect_agreement(moved.state(), expected, 1e-7);

    Matter broken = matter; // and their atoms one by one
    for (int i = 0; i < broken.size(); ++i)
        broken.positions[i] += broken.box[i % 3] * (i % 4 - 1);
    auto force = graft_force(broken, true, exact);
    force->setExceptionsUsePeriodicBoundaryConditions(true);
    Simulation wrapped(Simulation::of(broken, std::move(force)));
    expect_agreement(wrapped.state(), expected, 1e-7);
}

TEST(Periodic, ForceIsTheSlopeOfTheEnergy) {
    Matter matter = cloud(200, 1.5);
    Simulation run(Simulation::of(matter, graft_force(matter, true, exact)));
    const Vec3 force = run.state().getForces()[3];
    const double step = 1e-5;
    for (int axis = 0; axis < 3; ++axis) {
        double energy[2];
        for (int side = 0; side < 2; ++side) {
            std::vector<Vec3> positions = matter.positions;
            positions[3][axis] += side == 0 ? -step : step;
            run.context().setPositions(positions);
            energy[side] = run.state().getPotentialEnergy();
        }
        EXPECT_NEAR((energy[0] - energy[1]) / (2 * step), force[axis], 1e-5 * std::sqrt(force.dot(force)));
    }
}

TEST(Periodic, WhatEachCallSaysIsKeptOnce) {
    Matter matter = water(4);
    Simulation run(Simulation::of(matter, graft_force(matter, true)));
    for (int call = 0; call < 5; ++call) {
        run.context().setPositions(matter.positions);
        run.state();
        for (int i = 0; i < matter.size(); ++i)
            matter.positions[i] *= 1 + 0.01 * (i / 3 % 2);
    }
    const std::string log = run.graft().getLog(run.context());
    std::size_t said = 0;
    for (std::size_t at = log.find("tree: "); at != std::string::npos; at = log.find("tree: ", at + 1))
        ++said;
    EXPECT_EQ(said, 1U) << log;
}

TEST(Periodic, ANetChargeIsSaid) {
    Matter matter = melt(4);
    matter.charges[5] += 1;
    Simulation run(Simulation::of(matter, graft_force(matter, true)));
    run.state();
    EXPECT_NE(run.graft().getLog(run.context()).find("background"), std::string::npos)
        << run.graft().getLog(run.context());
}

} // namespace
} // namespace graft::openmm::tests
