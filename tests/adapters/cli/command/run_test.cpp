// SPDX-License-Identifier: BSD-3-Clause
// `graft run`: restarts bit by bit, interruptions, the energy log, and physics that is known.
#include "program.hpp"
#include "snapshot/formats.hpp"

#include <yaml-cpp/yaml.h>

#include <cmath>
#include <vector>

namespace command_test {

namespace {

class Run : public Program {
  protected:
    void SetUp() override {
        Program::SetUp();
        ok("ic plummer --n 500 --seed 3 -o p.hdf5");
    }
    void write_deck(const std::string& engine, const std::string& run) const {
        write("deck.yaml", engine + "run: {input: p.hdf5, output: a, time_step: 0.01, " + run + "}\n");
    }
    std::vector<std::vector<double>> log_of(const std::string& name) const {
        std::istringstream text(read(name));
        std::vector<std::vector<double>> rows;
        std::string line, cell;
        std::getline(text, line);
        EXPECT_EQ(line, "step,time,kinetic,potential,total,relative_energy_error,lx,ly,lz,virial_ratio");
        while (std::getline(text, line)) {
            std::istringstream cells(line);
            rows.emplace_back();
            while (std::getline(cells, cell, ',')) {
                rows.back().push_back(std::stod(cell));
            }
        }
        return rows;
    }
};

const char* const engines[] = {
    "softening: {kind: plummer, length: 0.05}\n",
    "method: direct\nprecision: fp64\nsoftening: {kind: plummer, length: 0.05}\n",
    "mac: {type: error, accuracy: 1e-4}\nsoftening: {kind: plummer, length: 0.05}\n",
};

} // namespace

TEST_F(Run, ARestartContinuesBitByBit) {
    for (const char* engine : engines) {
        write_deck(engine, "steps: 20, energy_every: 3");
        ok("run deck.yaml --quiet");
        ok("run deck.yaml --quiet --set run.output=b --set run.steps=10");
        EXPECT_NE(read("a.restart"), read("b.restart"));
        ok("run deck.yaml --quiet --set run.output=b --restart --set threads=1");
        EXPECT_EQ(read("a.restart"), read("b.restart")) << engine;
        EXPECT_EQ(read("a_energy.csv"), read("b_energy.csv")) << engine;
    }
}

TEST_F(Run, WithoutAnyMassItRefuses) {
    write("light.csv", "x,y,z,vx,vy,vz\n0,0,0,0,0,0\n1,0,0,0,0,0\n");
    write("light.yaml", "run: {input: light.csv, output: a, time_step: 0.1, steps: 2}\n");
    const Outcome outcome = graft("run light.yaml");
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.err.find("every mass is 0"), std::string::npos) << outcome.err;
}

TEST_F(Run, SignalsEndCleanlyWithASnapshotAndTheRunGoesOn) {
    const std::string engine = "method: direct\nprecision: fp64\nsoftening: {kind: plummer, length: 0.05}\n";
    for (const int signal : {SIGINT, SIGTERM}) {
        write_deck(engine, "steps: 100000000");
        std::filesystem::remove(folder_ / "a.restart");
        EXPECT_EQ(interrupt("deck.yaml", "a.restart", signal), 128 + signal) << read("err.txt");
        ASSERT_TRUE(exists("a.restart"));
        const auto rows = log_of("a_energy.csv");
        const auto last = static_cast<long long>(rows.back()[0]);
        ASSERT_GT(last, 0);
        char name[32];
        std::snprintf(name, sizeof name, "a_%06lld.hdf5", last);
        EXPECT_TRUE(exists(name)) << name;
        const std::string end = std::to_string(last + 5);
        ok("run deck.yaml --quiet --restart --set run.steps=" + end);
        ok("run deck.yaml --quiet --set run.output=b --set run.steps=" + end);
        EXPECT_EQ(read("a.restart"), read("b.restart")) << "interrupted after step " << last;
    }
}

TEST_F(Run, EnergyAndAngularMomentumStay) {
    write_deck(engines[1], "steps: 100, energy_every: 10");
    const YAML::Node summary = YAML::Load(ok("run deck.yaml --json"));
    const auto rows = log_of("a_energy.csv");
    ASSERT_EQ(rows.size(), 11u);
    for (const auto& row : rows) {
        EXPECT_LT(std::abs(row[5]), 1e-4);
        EXPECT_NEAR(row[2] + row[3], row[4], 1e-15);
        for (int axis = 6; axis < 9; ++axis) {
            EXPECT_NEAR(row[axis], rows[0][axis], 1e-12); // exact forces are central and pairwise equal
        }
        EXPECT_NEAR(row[9], 1.0, 0.2); // 500 particles of an equilibrium model
    }
    EXPECT_EQ(summary["step"].as<int>(), 100);
    EXPECT_NEAR(summary["time"].as<double>(), 1.0, 1e-12);
    EXPECT_TRUE(exists("a_000000.hdf5") && exists("a_000100.hdf5"));
}

TEST_F(Run, ACircularOrbitComesBackAfterItsPeriod) {
    // Two bodies of mass 1/2 at distance 1, G = 1: period 2 pi. Leapfrog's discrete circular orbit of radius
    // 1 has the frequency 1 + h^2/24 and the speed 1 - h^2/8; started with speed 1 the orbit is wider by
    // h^2/4, which takes 3 h^2/8 from the frequency: after one period each body lags by 2 pi h^2/3.
    write("two.csv", "x,y,z,vx,vy,vz,mass\n0.5,0,0,0,0.5,0,0.5\n-0.5,0,0,0,-0.5,0,0.5\n");
    write("deck.yaml",
          "method: direct\nprecision: fp64\n"
          "run: {input: two.csv, output: two.csv, steps: 1000, time_step: 0.0062831853071795865}\n");
    ok("run deck.yaml --quiet");
    const graft::cli::Snapshot end = graft::cli::read_snapshot_file((folder_ / "two_001000.csv").string());
    const double lag = 2 * M_PI * std::pow(0.0062831853071795865, 2) / 3;
    EXPECT_NEAR(end.x[0], 0.5, 1e-7);
    EXPECT_NEAR(end.y[0], -0.5 * lag, 0.005 * lag);
}

TEST_F(Run, WhatCannotBeRunIsRefusedByName) {
    const struct {
        const char* engine;
        const char* run;
        const char* message;
    } cases[] = {
        {"interaction: coulomb\n", "steps: 1", "interaction"},
        {"", "energy_every: 1", "run.steps"},
        {"", "steps: 5, restart: true", "a.restart"},
    };
    for (const auto& item : cases) {
        write_deck(item.engine, item.run);
        const Outcome outcome = graft("run deck.yaml");
        EXPECT_EQ(outcome.status, 1);
        EXPECT_NE(outcome.err.find(item.message), std::string::npos) << outcome.err;
        EXPECT_FALSE(exists("a_000000.hdf5"));
    }
}

TEST_F(Run, AConstantThatIsNotTheSnapshotsIsRefused) {
    ok("ic orbits -o p.hdf5");
    write_deck("", "steps: 1");
    const Outcome outcome = graft("run deck.yaml");
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.err.find("constant: 0.000295"), std::string::npos) << outcome.err;
}

TEST_F(Run, ARestartWithOtherPhysicsIsRefusedOrTakenInWords) {
    write_deck(engines[0], "steps: 4");
    ok("run deck.yaml --quiet");
    const std::string before = read("a.restart");
    ok("ic plummer --n 500 --seed 4 -o q.hdf5");
    const struct {
        const char* change;
        std::vector<std::string> words;
    } cases[] = {
        {"--set mac.theta=0.3", {"mac.theta was 1 and is 0.3"}},
        {"--set softening.length=0.06 --set order=3", {"softening.length was 0.05 and is 0.06", "order was"}},
        {"--set run.time_step=0.02", {"run.time_step was 0.01 and is 0.02"}},
        {"--set run.input=q.hdf5", {"run.input was a file of", "hash"}},
    };
    for (const auto& item : cases) {
        const std::string words = std::string("run deck.yaml --quiet --set run.steps=6 ") + item.change;
        const Outcome outcome = graft(words + " --restart");
        EXPECT_EQ(outcome.status, 1) << item.change;
        EXPECT_EQ(read("a.restart"), before);
        const Outcome taken = graft(words + " --restart-with-changes");
        EXPECT_EQ(taken.status, 0) << taken.err;
        for (const std::string& word : item.words) {
            EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
            EXPECT_NE(taken.err.find("restart with changes: "), std::string::npos) << taken.err;
            EXPECT_NE(taken.err.find(word), std::string::npos) << taken.err;
        }
        EXPECT_NE(outcome.err.find("--restart-with-changes"), std::string::npos) << outcome.err;
        ok(std::string("run deck.yaml --quiet --restart --set run.steps=8 ") + item.change);
        EXPECT_LT(std::abs(log_of("a_energy.csv").back()[5]), 1e-3);
        write("a.restart", before);
    }
    // What says where and how fast is free, and an unchanged restart needs no input.
    ok("run deck.yaml --quiet --restart --set run.steps=6 --set threads=1 --set log.level=error");
}

TEST_F(Run, AChangedStepGoesOnFromThePresentTime) {
    write_deck(engines[1], "steps: 4");
    ok("run deck.yaml --quiet");
    ok("run deck.yaml --quiet --restart-with-changes --set run.steps=6 --set run.time_step=0.03");
    EXPECT_NEAR(log_of("a_energy.csv").back()[1], 4 * 0.01 + 2 * 0.03, 1e-15);
}

TEST_F(Run, ARestartFileOfTheFirstFormatIsTakenWithChangesOnly) {
    write_deck(engines[1], "steps: 2");
    ok("run deck.yaml --quiet");
    std::string bytes = read("a.restart");
    const std::string first_key("\6\0\0\0\0\0\0\0method", 14); // behind the number of keys
    bytes.resize(bytes.rfind(first_key) - sizeof(std::int64_t));
    bytes[12] = 1;
    std::uint64_t hash = 1469598103934665603ull;
    for (const char byte : bytes) {
        hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ull;
    }
    bytes.append(reinterpret_cast<const char*>(&hash), sizeof hash);
    write("a.restart", bytes);
    const Outcome outcome = graft("run deck.yaml --restart --set run.steps=4");
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.err.find("format 1"), std::string::npos) << outcome.err;
    ok("run deck.yaml --quiet --restart-with-changes --set run.steps=4");
    bytes[12] = 3;
    write("a.restart", bytes);
    EXPECT_NE(graft("run deck.yaml --restart --set run.steps=4").err.find("format 3"), std::string::npos);
}

TEST_F(Run, ADamagedRestartFileIsRefused) {
    write_deck(engines[1], "steps: 2");
    ok("run deck.yaml --quiet");
    const std::string whole = read("a.restart");
    for (const std::size_t length : {std::size_t{3}, whole.size() / 2, whole.size() - 1}) {
        write("a.restart", whole.substr(0, length));
        const Outcome outcome = graft("run deck.yaml --restart --set run.steps=4");
        EXPECT_EQ(outcome.status, 1) << length;
        EXPECT_NE(outcome.err.find("a.restart"), std::string::npos) << outcome.err;
    }
    std::string flipped = whole;
    flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
    write("a.restart", flipped);
    EXPECT_EQ(graft("run deck.yaml --restart --set run.steps=4").status, 1);
}

} // namespace command_test
