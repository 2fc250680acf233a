// SPDX-License-Identifier: BSD-3-Clause
// `graft selftest` passes with this build, and sees what a library can compute wrong (spoiled/spoiled.c). Without MPI: PATH
// has no mpiexec (with it: tests/mpi/command_test.py).
#include "program.hpp"

#include <map>
#include <yaml-cpp/yaml.h> // JSON is YAML

namespace command_test {

namespace {

class SelfTest : public Program {
  protected:
    /// Results by name; the exit status must be `status`.
    std::map<std::string, YAML::Node> findings(const std::string& words, int status, const std::string& environment = "") const {
        const Outcome outcome = graft("selftest --json " + words, environment + " PATH=/nowhere");
        EXPECT_EQ(outcome.status, status) << words << " " << environment << "\n" << outcome.out << outcome.err;
        const YAML::Node answer = YAML::Load(outcome.out);
        EXPECT_EQ(answer["ok"].as<bool>(), status == 0) << outcome.out;
        std::map<std::string, YAML::Node> result;
        for (const YAML::Node& check : answer["checks"]) {
            result[check["name"].as<std::string>()] = check;
        }
        return result;
    }
};

std::string result(const YAML::Node& check) {
    return check["result"].as<std::string>();
}

std::string text(const YAML::Node& check) {
    return check["text"].as<std::string>();
}

void expect_part(const std::string& whole, const std::string& part) {
    EXPECT_NE(whole.find(part), std::string::npos) << "no '" << part << "' in: " << whole;
}

const char* const on_cpu[] = {"library", "ranks", "decompose", "paper", "direct", "tree", "periodic"};

} // namespace

TEST_F(SelfTest, PassesAndSaysWhatItDid) {
    auto all = findings("--require cpu", 0);
    EXPECT_EQ(all.size(), 10u);
    for (const char* name : on_cpu) {
        EXPECT_EQ(result(all[name]), "ok") << text(all[name]);
        EXPECT_GE(all[name]["time_s"].as<double>(), 0) << name;
    }
    expect_part(text(all["library"]), "libgraft");
    expect_part(text(all["library"]), "SIMD ");
    expect_part(text(all["decompose"]), "1500 to 1501 a rank");
    const Outcome plain = graft("selftest", "PATH=/nowhere");
    EXPECT_EQ(plain.status, 0) << plain.err;
    expect_part(plain.out, "ok        tree ");
    expect_part(plain.out, "this installation computes right");
}

TEST_F(SelfTest, SeesWhatALibraryComputesWrong) {
    const struct {
        const char *spoiled, *failed, *expected;
    } cases[] = {{"direct", "direct", "at most 1e-12"},       {"tree", "tree", "an error of at most "},
                 {"few", "paper", "at most 1e-14"},           {"ranks", "ranks", "at most 5e-04"},
                 {"periodic", "periodic", "at most 1e-06"},   {"potential", "paper", "at most 1e-14"},
                 {"potential", "direct", "at most 1e-12"},    {"potential", "periodic", "at most 1e-06"},
                 {"owners", "decompose", "without a rank 4"}, {"balance", "decompose", "as many on each, or one more"}};
    const std::string words = "--library '" GRAFT_SPOILED_LIBRARY "'";
    for (const auto& one : cases) {
        for (const char* by : {"1e-3", "nan"}) {
            auto all = findings(words, 1, std::string("GRAFT_SPOILED=") + one.spoiled + " GRAFT_SPOILED_BY=" + by);
            EXPECT_EQ(result(all[one.failed]), "failed") << one.spoiled << " " << by;
            for (const char* part : {one.expected, "found ", "try: "}) {
                expect_part(text(all[one.failed]), part);
            }
        }
    }
    findings(words, 0); // not spoiled
    const Outcome plain = graft("selftest " + words, "GRAFT_SPOILED=few PATH=/nowhere");
    EXPECT_EQ(plain.status, 1);
    expect_part(plain.out, "failed    paper ");
    expect_part(plain.out, "not in order: 1 of 10 failed");
}

/// A stand-in for the library of the GPU computes on the CPU (tests/unit/engine_gpu/fake).
TEST_F(SelfTest, LooksAtAGpuWhereThereIsOne) {
    const std::string words = "--require gpu --library '" GRAFT_SPOILED_LIBRARY "'";
    const std::string stand_in = "GRAFT_CUDA_LIBRARY='" GRAFT_FAKE_CUDA "' ";
    auto right = findings(words, 0, stand_in);
    EXPECT_EQ(result(right["gpu"]), "ok") << text(right["gpu"]);
    auto wrong = findings(words, 1, stand_in + "GRAFT_SPOILED=gpu");
    EXPECT_EQ(result(wrong["gpu"]), "failed") << text(wrong["gpu"]);
    expect_part(text(wrong["gpu"]), "at most 1e-12");
    expect_part(text(wrong["gpu"]), "found ");
}

TEST_F(SelfTest, WhatIsNotHereFailsWhereItIsRequired) {
    const std::string no_gpu = "GRAFT_CUDA_LIBRARY=/nowhere/libgraft_cuda.so";
    EXPECT_EQ(result(findings("", 0, no_gpu)["gpu"]), "not here");
    auto gpu = findings("--require cpu,gpu", 1, no_gpu);
    EXPECT_EQ(result(gpu["gpu"]), "failed");
    expect_part(text(gpu["gpu"]), "required, but not here");
    expect_part(text(gpu["gpu"]), "/nowhere/libgraft_cuda.so");
    EXPECT_EQ(result(gpu["tree"]), "ok");
    auto mpi = findings("--require mpi", 1, no_gpu);
    EXPECT_EQ(result(mpi["mpich"]), "failed");
    EXPECT_EQ(result(mpi["openmpi"]), "failed");
}

TEST_F(SelfTest, AWordThatItDoesNotKnowIsRefused) {
    for (const char* words : {"selftest --require tpu", "selftest --require cpu,,gpu", "selftest --require", "selftest now"}) {
        EXPECT_EQ(graft(words).status, 2) << words;
    }
    expect_part(graft("selftest --require tpu").err, "expected some of cpu,mpi,mpich,openmpi,gpu; found 'tpu'");
}

} // namespace command_test
