// SPDX-License-Identifier: BSD-3-Clause
// GraftForce on OpenMM's CUDA platform against itself on Reference: the same sums at the same positions, in
// all of the platform's precisions, after OpenMM has sorted its particles, in another box, with other
// charges, from device arrays and through the host's memory. Skipped without a CUDA platform (openmm-cuda-12
// or -13 and a GPU). In the environment GRAFT_OPENMM_PLUGINS, the folder of OpenMM's plugins, and
// GRAFT_OPENMM_CUDA_PLUGIN, if not where they were when this was compiled.
#include "systems.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>

namespace graft::openmm::tests {
namespace {

using OpenMM::NonbondedForce;
using OpenMM::Platform;
using OpenMM::State;

const char* exact = "{method: direct, precision: fp64, backend: cpu}";
const char* exact_there = "{method: direct, precision: fp64, backend: gpu}";

bool present() {
    for (int i = 0; i < Platform::getNumPlatforms(); ++i)
        if (Platform::getPlatform(i).getName() == "CUDA")
            return true;
    return false;
}

class Cuda : public testing::Test {
  protected:
    void SetUp() override {
        if (!present())
            GTEST_SKIP() << "OpenMM has no CUDA platform here";
    }
    void TearDown() override {
        if (present())
            precision("single");
    }
    static void precision(const std::string& value) {
        Platform::getPlatformByName("CUDA").setPropertyDefaultValue("Precision", value);
    }
};

void expect_same(const State& found, const State& expected, double tolerance) {
    EXPECT_LT(relative_error(found.getForces(), expected.getForces()), tolerance);
    double size = 0; // of the energy: forces over a nanometre
    for (const Vec3& f : expected.getForces())
        size += std::sqrt(f.dot(f));
    EXPECT_NEAR(found.getPotentialEnergy(), expected.getPotentialEnergy(), tolerance * size);
}

/// What Graft computed on last.
std::string backend(Simulation& run) {
    return run.graft().getReport(run.context()).find("\"backend\":\"gpu\"") != std::string::npos ? "gpu"
                                                                                                 : "cpu";
}

/// With Graft on the processor, through the host's memory, and on the GPU, where the arrays are.
void expect_same_in_each_precision(const Matter& matter, bool periodic) {
    Simulation right(Simulation::of(matter, graft_force(matter, periodic, exact)));
    for (const auto& [name, tolerance] :
         {std::pair("single", 1e-5), std::pair("mixed", 1e-9), std::pair("double", 1e-9)})
        for (const char* deck : {exact, exact_there}) {
            SCOPED_TRACE(std::string(name) + " " + deck);
            Platform::getPlatformByName("CUDA").setPropertyDefaultValue("Precision", name);
            Simulation run(Simulation::of(matter, graft_force(matter, periodic, deck), "CUDA"));
            expect_same(run.state(), right.state(), tolerance);
            EXPECT_EQ(backend(run), deck == exact ? "cpu" : "gpu");
        }
}

TEST_F(Cuda, PeriodicWater) {
    expect_same_in_each_precision(water(5), true);
}

TEST_F(Cuda, OpenCloudWithExceptions) {
    expect_same_in_each_precision(cloud(500), false);
}

/// The library would leave so few to the processor, were they not on the GPU already.
TEST_F(Cuda, FewParticlesStayOnTheGpu) {
    precision("mixed");
    const Matter matter = water(4);
    Simulation run(Simulation::of(matter, graft_force(matter, true), "CUDA"));
    Simulation right(Simulation::of(matter, graft_force(matter, true, exact)));
    const State found = run.state();
    std::printf("192 atoms, default deck: rms force error %.1e\n",
                relative_error(found.getForces(), right.state().getForces()));
    expect_same(found, right.state(), 1e-5);
    EXPECT_EQ(backend(run), "gpu");
}

TEST_F(Cuda, SameBits) {
    precision("mixed");
    const Matter matter = water(6);
    Simulation one(Simulation::of(matter, graft_force(matter, true), "CUDA"));
    Simulation other(Simulation::of(matter, graft_force(matter, true), "CUDA"));
    for (Simulation* run : {&one, &other})
        for (int k = 0; k < 4; ++k)
            run->state();
    EXPECT_EQ(relative_error(one.state().getForces(), other.state().getForces()), 0);
    EXPECT_EQ(one.state().getPotentialEnergy(), other.state().getPotentialEnergy());
}

TEST_F(Cuda, ExceptionsAcrossTheBox) {
    precision("mixed");
    Matter matter = water(4);
    for (int i = 0; i < matter.size(); ++i)
        matter.positions[i] += matter.box[i % 3] * (i % 4 - 1);
    const auto force = [&](const char* deck) {
        auto made = graft_force(matter, true, deck);
        made->setExceptionsUsePeriodicBoundaryConditions(true);
        return made;
    };
    Simulation run(Simulation::of(matter, force(exact_there), "CUDA"));
    Simulation right(Simulation::of(matter, force(exact)));
    expect_same(run.state(), right.state(), 1e-9);
}

/// What only the processor does goes through the host's memory, unless the deck insists on the GPU.
TEST_F(Cuda, WhatIsTheProcessors) {
    precision("mixed");
    const Matter matter = cloud(300);
    Simulation run(Simulation::of(matter, graft_force(matter, false, "{method: reference}"), "CUDA"));
    Simulation right(Simulation::of(matter, graft_force(matter, false, exact)));
    expect_same(run.state(), right.state(), 1e-9);
    EXPECT_EQ(backend(run), "cpu");
    EXPECT_NE(run.graft().getLog(run.context()).find("device memory"), std::string::npos)
        << run.graft().getLog(run.context());
    Simulation insists(
        Simulation::of(matter, graft_force(matter, false, "{method: reference, backend: gpu}"), "CUDA"));
    EXPECT_THROW(insists.state(), OpenMM::OpenMMException);
}

/// OpenMM has a CUDA context for each of its Contexts; Graft works in each, and leaves with it.
TEST_F(Cuda, ContextsComeAndGo) {
    precision("mixed");
    const Matter matter = water(5);
    Simulation right(Simulation::of(matter, graft_force(matter, true, exact)));
    Simulation first(Simulation::of(matter, graft_force(matter, true, exact_there), "CUDA"));
    for (int k = 0; k < 3; ++k) {
        Simulation second(Simulation::of(matter, graft_force(matter, true, exact_there), "CUDA"));
        expect_same(second.state(), right.state(), 1e-9);
        expect_same(first.state(), right.state(), 1e-9);
    }
    first.context().reinitialize(true);
    expect_same(first.state(), right.state(), 1e-9);
}

/// With whatever Graft finds to compute on, and steps, in which both use the GPU in turn.
TEST_F(Cuda, GraftOnTheGpuToo) {
    precision("mixed");
    const Matter matter = cloud(4000, 6);
    const char* deck = "{method: tree, precision: fp64, order: 4, mac: {type: error, accuracy: 1.0e-6}}";
    Simulation run(Simulation::of(matter, graft_force(matter, false, deck), "CUDA"));
    run.integrator().step(20);
    const State moved = run.state();
    const std::string log = run.graft().getLog(run.context());
    std::printf("%s\n", log.substr(0, log.find('\n')).c_str()); // the backend
    Simulation right(Simulation::of(matter, graft_force(matter, false, exact)));
    right.context().setPositions(moved.getPositions());
    expect_same(moved, right.state(), 1e-4);
}

/// Graft in group 1, Lennard-Jones, whose cutoff makes OpenMM sort.
std::vector<std::unique_ptr<OpenMM::Force>> liquid(const Matter& matter, const std::string& deck) {
    std::vector<std::unique_ptr<OpenMM::Force>> forces;
    forces.push_back(graft_force(matter, true, deck));
    forces.back()->setForceGroup(1);
    forces.push_back(nonbonded(matter, NonbondedForce::CutoffPeriodic, 1e-5, false, true));
    return forces;
}

TEST_F(Cuda, SortedParticlesKeepTheirForces) {
    precision("mixed");
    const Matter matter = water(6);
    Simulation run(matter, liquid(matter, ""), "CUDA", 0.0005);
    run.integrator().step(1000); // sorted at least twice
    const State moved = run.state(2);
    Simulation right(Simulation::of(matter, graft_force(matter, true, exact)));
    right.context().setPositions(moved.getPositions());
    double far = 0;
    for (int i = 0; i < matter.size(); ++i) {
        const Vec3 d = moved.getPositions()[i] - matter.positions[i];
        far = std::max(far, std::sqrt(d.dot(d)));
    }
    EXPECT_GT(far, 0.05);
    expect_same(moved, right.state(), 1e-5); // the default deck's error
}

void expect_other_box_and_charges(const char* deck) {
    Matter matter = melt(6);
    Simulation run(Simulation::of(matter, graft_force(matter, true, deck), "CUDA"));
    run.state();
    for (Vec3& at : matter.positions)
        at *= 1.02;
    for (Vec3& edge : matter.box)
        edge *= 1.02;
    for (double& charge : matter.charges)
        charge *= 1.5;
    for (int i = 0; i < matter.size(); ++i)
        run.graft().setParticleCharge(i, matter.charges[i]);
    run.graft().updateParametersInContext(run.context());
    run.context().setPeriodicBoxVectors(matter.box[0], matter.box[1], matter.box[2]);
    run.context().setPositions(matter.positions);
    Simulation right(Simulation::of(matter, graft_force(matter, true, exact)));
    expect_same(run.state(), right.state(), 1e-9);
}

TEST_F(Cuda, OtherBoxAndCharges) {
    precision("double");
    for (const char* deck : {exact, exact_there})
        expect_other_box_and_charges(deck);
}

/// Of steps alone: seconds in this force a call, and in libgraft.
struct Share {
    explicit Share(Simulation& run)
        : run_(run), calls_(now("calls")), call_s_(now("call_s")), graft_s_(now("graft_s")) {}
    void print() const {
        const double calls = now("calls") - calls_, call_s = now("call_s") - call_s_;
        std::printf("backend %s; a call %.3f ms, of it in Graft %.1f %%\n", backend(run_).c_str(),
                    1e3 * call_s / calls, 100 * (now("graft_s") - graft_s_) / call_s);
    }
    double now(const char* key) const {
        return run_.graft().getFigure(run_.context(), std::string("adapter.") + key);
    }
    Simulation& run_;
    double calls_, call_s_, graft_s_;
};

double step_ms(Simulation& run, int steps) {
    const auto begin = std::chrono::steady_clock::now();
    run.integrator().step(steps);
    run.context().getState(OpenMM::State::Velocities); // waits
    const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - begin;
    return wall.count() / steps;
}

Simulation with_pme(const Matter& matter, double step_ps) {
    std::vector<std::unique_ptr<OpenMM::Force>> one;
    one.push_back(nonbonded(matter, NonbondedForce::PME, 1e-5, true, true));
    return Simulation(matter, std::move(one), "CUDA", step_ps);
}

void time_beside_pme(int cells) {
    const Matter matter = water(cells);
    Simulation ours(matter, liquid(matter, ""), "CUDA"), pme(with_pme(matter, 0.001));
    EXPECT_LT(relative_error(ours.state().getForces(), pme.state().getForces()), 1e-4);
    for (Simulation* run : {&ours, &pme})
        step_ms(*run, 20);
    const Share share(ours);
    const double graft_ms = step_ms(ours, 200);
    share.print();
    std::printf("%d atoms of water on CUDA: %.3f ms a step, PME %.3f\n", matter.size(), graft_ms,
                step_ms(pme, 200));
}

TEST_F(Cuda, BesidePmeOfOpenMM) {
    precision("mixed");
    for (int cells : {10, 20})
        time_beside_pme(cells);
}

/// What was asked for: the default deck's rms force error at most 1e-5 of the rms force, about 3,000 atoms.
TEST_F(Cuda, ErrorOfTheDefaultDeck) {
    precision("mixed");
    for (const auto& [name, matter] : {std::pair("water", water(10)), std::pair("salt", melt(14))}) {
        Simulation run(Simulation::of(matter, graft_force(matter, true), "CUDA"));
        Simulation right(Simulation::of(matter, graft_force(matter, true, exact)));
        const double error = relative_error(run.state().getForces(), right.state().getForces());
        std::printf("%s, %d atoms: rms force error %.1e of the rms force\n", name, matter.size(), error);
        EXPECT_LT(error, 1e-5);
        EXPECT_EQ(backend(run), "gpu");
    }
}

/// Slope of the energy and its error from the scatter about the line in blocks of a picosecond, in
/// kJ/mol/ns a degree of freedom.
std::pair<double, double> drift(Simulation& run, int picoseconds, int freedoms) {
    std::vector<double> block;
    run.integrator().step(1000);
    for (int p = 0; p < picoseconds; ++p) {
        block.push_back(0);
        for (int k = 0; k < 20; ++k) {
            run.integrator().step(50);
            const State now = run.context().getState(State::Energy);
            block.back() += (now.getPotentialEnergy() + now.getKineticEnergy()) / 20;
        }
    }
    const double n = picoseconds, middle = (n - 1) / 2, squares = n * (n * n - 1) / 12;
    double slope = 0, mean = 0, scatter = 0;
    for (int p = 0; p < picoseconds; ++p)
        slope += (p - middle) * block[p] / squares, mean += block[p] / n;
    for (int p = 0; p < picoseconds; ++p)
        scatter += std::pow(block[p] - mean - slope * (p - middle), 2) / (n - 2);
    return {1e3 * slope / freedoms, 1e3 * std::sqrt(scatter / squares) / freedoms};
}

/// At most twice PME's, within the errors of both.
TEST_F(Cuda, EnergyIsKept) {
    precision("mixed");
    const Matter matter = water(5);
    Simulation ours(matter, liquid(matter, ""), "CUDA"), pme(with_pme(matter, 0.001));
    const int freedoms = 6 * matter.size() / 3 - 3;
    for (Simulation* run : {&ours, &pme})
        run->context().setVelocitiesToTemperature(300, 11);
    const auto [graft, graft_error] = drift(ours, 40, freedoms);
    const auto [other, other_error] = drift(pme, 40, freedoms);
    std::printf(
        "375 atoms, 40 ps: energy drifts by %.5f +- %.5f kJ/mol/ns a degree of freedom, PME %.5f +- %.5f\n",
        graft, graft_error, other, other_error);
    EXPECT_LT(std::abs(graft), 2 * std::abs(other) + 3 * (graft_error + 2 * other_error));
}

} // namespace
} // namespace graft::openmm::tests

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    const char* folder = std::getenv("GRAFT_OPENMM_PLUGINS");
    OpenMM::Platform::loadPluginsFromDirectory(folder != nullptr ? folder : GRAFT_OPENMM_PLUGINS);
    try {
        const char* plugin = std::getenv("GRAFT_OPENMM_CUDA_PLUGIN");
        OpenMM::Platform::loadPluginLibrary(plugin != nullptr ? plugin : GRAFT_OPENMM_CUDA_PLUGIN);
    } catch (const OpenMM::OpenMMException& error) {
        std::printf("%s\n", error.what()); // without libcuda.so
    }
    for (const std::string& failure : OpenMM::Platform::getPluginLoadFailures())
        std::printf("%s\n", failure.c_str());
    return RUN_ALL_TESTS();
}
