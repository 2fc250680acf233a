// SPDX-License-Identifier: BSD-3-Clause
// `graft check`: the promised object, sweeps, and errors that mean what they say.
#include "program.hpp"

#include <yaml-cpp/yaml.h>

#include <vector>

namespace command_test {

namespace {

class Check : public Program {
  protected:
    std::vector<YAML::Node> answers(const std::string& words) const {
        std::istringstream text(ok("check --json --repeat 1 " + words));
        std::vector<YAML::Node> nodes;
        for (std::string line; std::getline(text, line);) {
            nodes.push_back(YAML::Load(line));
        }
        return nodes;
    }
};

} // namespace

TEST_F(Check, PrintsThePromisedObject) {
    const auto nodes =
        answers("--ic plummer --n 5000 --seed 42 --theta 0.5 --order 2 --threads 1 --precision fp32");
    ASSERT_EQ(nodes.size(), 1u);
    const YAML::Node& node = nodes[0];
    EXPECT_EQ(node["n"].as<int>(), 5000);
    EXPECT_EQ(node["precision"].as<std::string>(), "fp32");
    EXPECT_EQ(node["theta"].as<double>(), 0.5);
    EXPECT_EQ(node["order"].as<int>(), 2);
    EXPECT_EQ(node["threads"].as<int>(), 1);
    for (const char* key : {"sort", "tree", "moments", "lists", "forces", "total"}) {
        EXPECT_GT(node["time_s"][key].as<double>(), 0) << key;
    }
    for (const char* key : {"median", "p90", "p99", "max"}) {
        EXPECT_GT(node["error"][key].as<double>(), 0) << key;
    }
    EXPECT_GT(node["interactions"]["p2p"].as<double>(), 0);
    EXPECT_GT(node["interactions"]["m2p"].as<double>(), 0);
    EXPECT_GT(node["bytes"]["lists"].as<double>(), 0);
    EXPECT_GT(node["bytes"]["total"].as<double>(), node["bytes"]["lists"].as<double>());
    EXPECT_FALSE(node["backend"].as<std::string>().empty() || node["simd"].as<std::string>().empty() ||
                 node["mac"].as<std::string>().empty());
}

/// On stderr, by every command that computes, once a setting; the answer stays the answer.
TEST_F(Check, WarnsWhereTheAccuracyDoesNotHold) {
    const std::string at_order_2 = "graft: mac.accuracy 3e-06: at order 2", softened = "within a softening length";
    const Outcome asked = graft("check --n 500 --repeat 1 --accuracy 3e-6 --order 2 --precision fp64 --json");
    EXPECT_EQ(asked.err.find(at_order_2), 0u) << asked.err;
    EXPECT_EQ(asked.err.find(at_order_2, 1), std::string::npos) << "twice: " << asked.err;
    EXPECT_EQ(asked.err.find(softened), std::string::npos) << asked.err;
    EXPECT_EQ(YAML::Load(asked.out)["order"].as<int>(), 2);
    EXPECT_NE(graft("check --n 500 --repeat 1 --softening 0.1").err.find(softened), std::string::npos);
    EXPECT_EQ(graft("check --n 500 --repeat 1").err, "");
    const Outcome chosen = graft("check --n 500 --repeat 1 --accuracy 1e-7 --json");
    EXPECT_EQ(chosen.err, "");
    EXPECT_EQ(YAML::Load(chosen.out)["order"].as<int>(), 8);
    EXPECT_EQ(YAML::Load(chosen.out)["precision"].as<std::string>(), "fp64");
    EXPECT_LT(YAML::Load(chosen.out)["error"]["p99"].as<double>(), 2e-7);
    ok("ic plummer --n 50 -o p.hdf5");
    write("deck.yaml", "precision: fp64\norder: 2\nmac: {accuracy: 3.0e-6}\nsoftening: {kind: plummer, length: 0.1}\n"
                       "run: {input: p.hdf5, output: a, time_step: 0.01, steps: 3}\n");
    const Outcome ran = graft("run deck.yaml --quiet");
    const std::size_t said = ran.err.find(softened);
    EXPECT_NE(ran.err.find(at_order_2), std::string::npos) << ran.err;
    EXPECT_NE(said, std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.find(softened, said + 1), std::string::npos) << "not each step: " << ran.err;
    if (GRAFT_HAVE_STUDY) {
        const Outcome bench = graft("bench force --n 500 --repeat 1 --accuracy 3e-6 --order 2 --precision fp64");
        EXPECT_EQ(bench.err.find(at_order_2), 0u) << bench.err;
        EXPECT_EQ(YAML::Load(bench.out)["n"].as<int>(), 500);
    }
}

// Errors against all pairs of the open system would be of the forces' own size.
TEST_F(Check, AndBenchForceHonourTheBoxOfTheDeck) {
    write("box.yaml", "box: {periodic: xyz, x: 1, y: 1, z: 1}\nmac: {accuracy: 1e-3}\n");
    const auto nodes = answers("--ic cube --n 3000 --targets 200 --deck box.yaml");
    ASSERT_EQ(nodes.size(), 1u);
    EXPECT_LT(nodes[0]["error"]["p99"].as<double>(), 1e-3);
    if (!GRAFT_HAVE_STUDY) {
        GTEST_SKIP() << "this build has no study library";
    }
    const YAML::Node bench = YAML::Load(
        ok("bench force --ic uniform --n 3000 --check --targets 200 --backend cpu --repeat 1 --precision "
           "fp64 --set box.x=1 --set box.y=1 --set box.z=1 --set box.periodic=xyz --set "
           "ewald.method=replicas"));
    EXPECT_LT(bench["error"]["p99"].as<double>(), 1e-2);
    EXPECT_GT(bench["error"]["p99"].as<double>(), 1e-9) << "replicas, against the splitting";
}

TEST_F(Check, SweepsAreAllCombinationsAndErrorsFallWithTheta) {
    const auto nodes = answers("--n 4000 --precision fp64 --sweep order=1,2 --sweep theta=0.9,0.5,0.3");
    ASSERT_EQ(nodes.size(), 6u);
    for (int order = 0; order < 2; ++order) {
        EXPECT_EQ(nodes[3 * order]["order"].as<int>(), order + 1);
        for (int i = 0; i < 2; ++i) {
            EXPECT_GT(nodes[3 * order + i]["error"]["p90"].as<double>(),
                      nodes[3 * order + i + 1]["error"]["p90"].as<double>());
        }
    }
}

TEST_F(Check, DirectSumsInDoublePrecisionHaveRoundingErrorsOnly) {
    const auto nodes = answers("--n 2000 --method direct --precision fp64");
    EXPECT_LT(nodes.at(0)["error"]["p99"].as<double>(), 1e-12);
}

TEST_F(Check, TheCurveIsTheErrorDistribution) {
    const YAML::Node node = answers("--n 3000 --theta 0.8 --order 1 --curve").at(0);
    double last = 1;
    double at_median = -1;
    for (const YAML::Node& point : node["curve"]) {
        const double fraction = point[1].as<double>();
        EXPECT_LE(fraction, last);
        last = fraction;
        if (point[0].as<double>() <= node["error"]["median"].as<double>()) {
            at_median = fraction;
        }
    }
    EXPECT_EQ(last, 0);
    EXPECT_NEAR(at_median, 0.5, 0.1);
}

TEST_F(Check, AFileServesAsWellAsAModel) {
    ok("ic plummer --n 2000 --seed 5 -o p.hdf5");
    const auto from_file = answers("--file p.hdf5 --seed 5 --precision fp64").at(0);
    const auto from_model = answers("--ic plummer --n 2000 --seed 5 --precision fp64").at(0);
    EXPECT_EQ(from_file["error"]["p99"].as<double>(), from_model["error"]["p99"].as<double>());
}

} // namespace command_test
