// SPDX-License-Identifier: BSD-3-Clause
// GraftForce without periodic images against NonbondedForce (NoCutoff on the Reference platform, which sums
// all pairs in double precision), and what a Force of OpenMM must do: groups, energies alone, updates, XML,
// errors that leave the Context usable.
#include "systems.hpp"

#include <gtest/gtest.h>

#include <openmm/serialization/XmlSerializer.h>

#include <functional>
#include <sstream>

namespace graft::openmm::tests {
namespace {

using OpenMM::NonbondedForce;
using OpenMM::OpenMMException;
using OpenMM::State;

const char* exact = "{method: direct, precision: fp64}";

OpenMM::State expected_state(const Matter& matter) {
    Simulation run(Simulation::of(matter, nonbonded(matter, NonbondedForce::NoCutoff, 1e-5, true, false)));
    return run.state();
}

void expect_failure(const std::string& text, const std::function<void()>& call) {
    try {
        call();
        ADD_FAILURE() << "no exception; expected one that says '" << text << "'";
    } catch (const OpenMMException& error) {
        EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
}

class Open : public testing::TestWithParam<const char*> {};

TEST_P(Open, ForcesAndEnergyAreNonbondedForces) {
    const Matter matter = cloud(1000);
    const State expected = expected_state(matter);
    for (const auto& [deck, tolerance] :
         {std::pair(exact, 1e-13), std::pair("", 1e-5), std::pair("precision: fp32", 1e-5)}) {
        Simulation run(Simulation::of(matter, graft_force(matter, false, deck), GetParam()));
        const State found = run.state();
        // The CPU platform keeps forces in single precision before it adds ours.
        EXPECT_LT(relative_error(found.getForces(), expected.getForces()), std::max(tolerance, 1e-13))
            << deck;
        EXPECT_NEAR(found.getPotentialEnergy(), expected.getPotentialEnergy(),
                    tolerance * std::abs(expected.getPotentialEnergy()))
            << deck;
    }
}

TEST_P(Open, OtherForcesAreAddedTo) {
    const Matter matter = melt(4);
    std::vector<std::unique_ptr<OpenMM::Force>> both, one;
    both.push_back(graft_force(matter, false, exact));
    both.push_back(nonbonded(matter, NonbondedForce::NoCutoff, 1e-5, false, true));
    one.push_back(nonbonded(matter, NonbondedForce::NoCutoff, 1e-5, true, true));
    Simulation run(matter, std::move(both), GetParam()), whole(matter, std::move(one));
    EXPECT_LT(relative_error(run.state().getForces(), whole.state().getForces()), 1e-5);
    EXPECT_NEAR(run.state().getPotentialEnergy(), whole.state().getPotentialEnergy(),
                1e-5 * std::abs(whole.state().getPotentialEnergy()));
}

INSTANTIATE_TEST_SUITE_P(On, Open, testing::Values("Reference", "CPU"),
                         [](const auto& platform) { return std::string(platform.param); });

TEST(OpenForce, GroupsAreHonoured) {
    const Matter matter = cloud(100);
    auto force = graft_force(matter, false, exact);
    force->setForceGroup(5);
    Simulation run(Simulation::of(matter, std::move(force)));
    EXPECT_EQ(run.state(1 << 4).getPotentialEnergy(), 0);
    EXPECT_EQ(run.state(1 << 4).getForces()[7], Vec3());
    EXPECT_EQ(run.state(1 << 5).getPotentialEnergy(), run.state().getPotentialEnergy());
    EXPECT_NE(run.state(1 << 5).getForces()[7], Vec3());
}

TEST(OpenForce, EnergyAloneIsTheSame) {
    const Matter matter = cloud(100);
    Simulation run(Simulation::of(matter, graft_force(matter, false, exact)));
    const double alone = run.context().getState(State::Energy).getPotentialEnergy();
    const State both = run.state();
    EXPECT_EQ(alone, both.getPotentialEnergy());
    EXPECT_EQ(run.context().getState(State::Forces).getForces()[3], both.getForces()[3]);
}

TEST(OpenForce, SofteningHoldsForExceptionsToo) {
    Matter matter;
    matter.add(Vec3(0, 0, 0), 1, 2);
    matter.add(Vec3(0.3, 0, 0), 1, 3);
    matter.exceptions.push_back({{0, 1}, 1.5});
    Simulation run(Simulation::of(
        matter, graft_force(matter, false, "{precision: fp64, softening: {kind: plummer, length: 0.4}}")));
    const double one_4pi_eps0 = 138.93545764; // kJ nm / mol / e^2, CODATA 2018
    EXPECT_NEAR(run.state().getPotentialEnergy(), one_4pi_eps0 * 1.5 / 0.5, 1e-5);
    EXPECT_NEAR(run.state().getForces()[1][0], one_4pi_eps0 * 1.5 * 0.3 / 0.125, 1e-4);
}

TEST(OpenForce, MovedElectrostaticsAreTheWholeOfThem) {
    const Matter matter = cloud(300);
    const State expected = expected_state(matter);
    auto theirs = nonbonded(matter, NonbondedForce::NoCutoff, 1e-5, true, false);
    auto ours = std::make_unique<GraftForce>();
    ours->moveElectrostatics(*theirs);
    ours->setDeck(exact);
    std::vector<std::unique_ptr<OpenMM::Force>> forces;
    forces.push_back(std::move(ours));
    forces.push_back(std::move(theirs));
    Simulation run(matter, std::move(forces));
    EXPECT_LT(relative_error(run.state().getForces(), expected.getForces()), 1e-13);
    const auto& left = dynamic_cast<NonbondedForce&>(run.system().getForce(1));
    Simulation rest(Simulation::of(matter, std::make_unique<NonbondedForce>(left)));
    EXPECT_EQ(rest.state().getPotentialEnergy(), 0);

    auto periodic = nonbonded(matter, NonbondedForce::PME, 1e-5, true, true);
    GraftForce force;
    force.moveElectrostatics(*periodic);
    EXPECT_TRUE(force.usesPeriodicBoundaryConditions());
    EXPECT_EQ(periodic->getNonbondedMethod(), NonbondedForce::CutoffPeriodic);
    expect_failure("already", [&] { force.moveElectrostatics(*periodic); });
    periodic->addGlobalParameter("scale", 1);
    periodic->addParticleParameterOffset("scale", 0, 1, 0, 0);
    GraftForce another;
    expect_failure("offsets", [&] { another.moveElectrostatics(*periodic); });
    EXPECT_EQ(another.getNumParticles(), 0);
}

TEST(OpenForce, UpdatedParametersReachTheContext) {
    Matter matter = cloud(200);
    Simulation run(Simulation::of(matter, graft_force(matter, false, exact)));
    GraftForce& force = run.graft();
    matter.charges[4] = 2.5;
    matter.exceptions[10].second = -0.25;
    force.setParticleCharge(4, 2.5);
    int a, b;
    double product;
    force.getExceptionParameters(10, a, b, product);
    force.setExceptionParameters(10, a, b, -0.25);
    force.updateParametersInContext(run.context());
    EXPECT_LT(relative_error(run.state().getForces(), expected_state(matter).getForces()), 1e-13);

    const std::vector<Vec3> before = run.state().getForces();
    force.addException(5, 150, 0);
    expect_failure("reinitialize", [&] { force.updateParametersInContext(run.context()); });
    EXPECT_EQ(run.state().getForces()[5], before[5]);
    run.context().reinitialize(true);
    matter.exceptions.push_back({{5, 150}, 0});
    EXPECT_LT(relative_error(run.state().getForces(), expected_state(matter).getForces()), 1e-13);
}

TEST(OpenForce, XmlReadsBackTheSameForceAndTheSameBits) {
    const Matter matter = cloud(150);
    auto force = graft_force(
        matter, true, "# my deck: <\"accurate\"> & 'slow'\nmethod: direct\nmac:\n    accuracy: 1.0e-6\n");
    force->setForceGroup(7);
    force->setName("electrostatics & more");
    force->setUsesPeriodicBoundaryConditions(false);
    Simulation run(Simulation::of(matter, std::move(force)));
    std::stringstream text, again;
    OpenMM::XmlSerializer::serialize(&run.system(), "System", text);
    const std::unique_ptr<OpenMM::System> copy(OpenMM::XmlSerializer::deserialize<OpenMM::System>(text));
    OpenMM::XmlSerializer::serialize(copy.get(), "System", again);
    EXPECT_EQ(text.str(), again.str());

    const auto& read = dynamic_cast<const GraftForce&>(copy->getForce(0));
    EXPECT_EQ(read.getDeck(), run.graft().getDeck());
    EXPECT_EQ(read.getForceGroup(), 7);
    EXPECT_EQ(read.getName(), "electrostatics & more");
    EXPECT_EQ(read.getNumExceptions(), run.graft().getNumExceptions());
    OpenMM::VerletIntegrator integrator(0.001);
    OpenMM::Context context(*copy, integrator, OpenMM::Platform::getPlatformByName("Reference"));
    context.setPositions(matter.positions);
    EXPECT_EQ(context.getState(State::Energy).getPotentialEnergy(), run.state().getPotentialEnergy());

    GraftForce flags;
    flags.setUsesPeriodicBoundaryConditions(true);
    flags.setExceptionsUsePeriodicBoundaryConditions(true);
    flags.setDeck("method: direct"); // no end of line
    const std::unique_ptr<GraftForce> second(OpenMM::XmlSerializer::clone(flags));
    EXPECT_TRUE(second->usesPeriodicBoundaryConditions());
    EXPECT_TRUE(second->getExceptionsUsePeriodicBoundaryConditions());
    EXPECT_EQ(second->getDeck(), "method: direct");
}

TEST(OpenForce, NothingToComputeIsFine) {
    Matter matter;
    matter.add(Vec3(1, 1, 1), 1, 1);
    Simulation one(Simulation::of(matter, graft_force(matter, false)));
    EXPECT_EQ(one.state().getPotentialEnergy(), 0);
    matter.charges = {0};
    matter.add(Vec3(1, 2, 1), 1, 0);
    Simulation uncharged(Simulation::of(matter, graft_force(matter, false)));
    EXPECT_EQ(uncharged.state().getForces()[0], Vec3());
}

TEST(OpenForce, FiguresTellWhatWasDone) {
    const Matter matter = cloud(100);
    Simulation run(Simulation::of(matter, graft_force(matter, false, exact)));
    run.state();
    EXPECT_GE(run.graft().getFigure(run.context(), "adapter.calls"), 1);
    EXPECT_GE(run.graft().getFigure(run.context(), "adapter.call_s"),
              run.graft().getFigure(run.context(), "adapter.graft_s"));
    EXPECT_GE(run.graft().getFigure(run.context(), "interactions.p2p"), 100 * 99);
    EXPECT_NE(run.graft().getReport(run.context()).find("\"p2p\""), std::string::npos);
    EXPECT_NE(run.graft().getLog(run.context()).find("cpu"), std::string::npos);
    expect_failure("no.such.figure", [&] { run.graft().getFigure(run.context(), "no.such.figure"); });
}

TEST(OpenForce, ErrorsNameWhatIsWrongAndTheContextLivesOn) {
    const Matter matter = cloud(30);
    GraftForce force;
    expect_failure("does not exist", [&] { force.setParticleCharge(0, 1); });
    expect_failure("finite", [&] { force.addParticle(std::nan("")); });
    force.addException(0, 1, 0);
    expect_failure("replace", [&] { force.addException(1, 0, 0.5); });
    EXPECT_EQ(force.addException(1, 0, 0.5, true), 0);
    expect_failure("different particles", [&] { force.addException(2, 2, 0); });
    expect_failure("System 30", [&] { Simulation::of(matter, std::make_unique<GraftForce>(force)); });
    auto make = [&](
                    const char* deck, const std::function<void(GraftForce&)>& change = [](GraftForce&) {}) {
        auto made = graft_force(matter, false, deck);
        change(*made);
        Simulation::of(matter, std::move(made));
    };
    expect_failure("mac.theta", [&] { make("mac.theat: 0.5"); });
    expect_failure("units", [&] { make("units: {length: nm}"); });
    expect_failure("spline", [&] { make("softening: {kind: spline, length: 0.1}"); });
    expect_failure("/nowhere/libgraft.so",
                   [&] { make("", [](GraftForce& f) { f.setLibrary("/nowhere/libgraft.so"); }); });
    expect_failure("exception 20", [&] { make("", [](GraftForce& f) { f.addException(3, 30, 0); }); });
    expect_failure("periodic", [&] {
        make("", [](GraftForce& f) { f.setExceptionsUsePeriodicBoundaryConditions(true); });
    });

    Simulation run(Simulation::of(matter, graft_force(matter, false, exact)));
    const State before = run.state();
    std::vector<Vec3> broken = matter.positions;
    broken[17][1] = std::nan("");
    run.context().setPositions(broken);
    expect_failure("17", [&] { run.state(); });
    run.context().setPositions(matter.positions);
    EXPECT_EQ(run.state().getPotentialEnergy(), before.getPotentialEnergy());
}

} // namespace
} // namespace graft::openmm::tests

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    OpenMM::Platform::loadPluginsFromDirectory(GRAFT_OPENMM_PLUGINS); // the CPU platform
    return RUN_ALL_TESTS();
}
