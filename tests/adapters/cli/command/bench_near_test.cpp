// SPDX-License-Identifier: BSD-3-Clause
// `graft bench p2p` of boxes: what the JSON says is consistent, caps and names are kept, mistakes are named.
#include "program.hpp"

#include <algorithm>
#include <string>
#include <vector>
#include <yaml-cpp/yaml.h> // JSON is YAML

namespace command_test {

namespace {

class BenchNear : public Program {
  protected:
    YAML::Node bench(const std::string& words) {
        return YAML::Load(ok("bench p2p --n 2000 --repeats 2 --threads 1 " + words));
    }
};

double total(const YAML::Node& layout, const char* which = "time_s") {
    return layout[which]["total"].as<double>();
}

} // namespace

TEST_F(BenchNear, AllLayoutsHaveTimesPredictionsAndTheChoiceIsOneOfThem) {
    const YAML::Node answer = bench("--density 6 --dimension 2 --layout all --executes 10 --json");
    EXPECT_EQ(answer["kernel"].as<std::string>(), "logarithm");
    ASSERT_EQ(answer["layouts"].size(), 9u);
    double best_s = 1e9, chosen_s = 0;
    for (const YAML::Node& one : answer["layouts"]) {
        const auto name = one["layout"].as<std::string>();
        const YAML::Node t = one["time_s"];
        EXPECT_GT(t["collection"].as<double>(), 0) << name;
        EXPECT_GT(t["kernel"].as<double>(), 0) << name;
        EXPECT_GT(total(one, "predicted_s"), 0) << name;
        EXPECT_GT(one["bytes"].as<double>(), 0) << name;
        EXPECT_NEAR(one["pairs_per_s"].as<double>() * total(one) / answer["pairs"].as<double>(), 1, 1e-3)
            << name;
        best_s = std::min(best_s, total(one));
        if (name == answer["choice"].as<std::string>())
            chosen_s = total(one);
    }
    ASSERT_GT(chosen_s, 0) << "the choice is among the layouts";
    EXPECT_NEAR(answer["regret"].as<double>(), chosen_s / best_s - 1, 1e-3);
}

/// Of those named alone: each of them by itself, blanks around the names or not, and the density by default.
TEST_F(BenchNear, TheChoiceIsOfTheLayoutsNamed) {
    for (const char* name : {"indexed", "ranges", "replicated", "replicated_interleaved", "replicated_group",
                             "tiled", "tiled_split", "replicated_packed", "replicated_group_padded"}) {
        const YAML::Node answer = bench(std::string("--layout ") + name);
        EXPECT_EQ(answer["choice"].as<std::string>(), name);
        EXPECT_NEAR(answer["regret"].as<double>(), 0, 1e-9) << name;
        EXPECT_NEAR(answer["density"].as<double>(), 8, 2) << "points a box, where nobody says";
    }
    const YAML::Node two = bench("--layout ' indexed , replicated' --executes 1e6");
    ASSERT_EQ(two["layouts"].size(), 2u);
    EXPECT_TRUE(two["choice"].as<std::string>() == "indexed" ||
                two["choice"].as<std::string>() == "replicated");
    EXPECT_TRUE(two["regret"].IsDefined());
}

/// With an option of boxes the near field is measured, without one the rate of all pairs.
TEST_F(BenchNear, AnyOptionOfBoxesIsEnough) {
    for (const char* words : {"--executes=7", "--kernel yukawa", "--dimension 2", "--no-trial"}) {
        const YAML::Node answer = bench(words);
        EXPECT_EQ(answer["layouts"].size(), 9u) << words;
    }
    const YAML::Node pairs = YAML::Load(ok("bench p2p --set repetitions=1"));
    EXPECT_FALSE(pairs["layouts"].IsDefined());
    EXPECT_TRUE(pairs["p2p"].IsDefined());
}

TEST_F(BenchNear, EveryKernel) {
    for (const char* kernel : {"laplace", "logarithm", "yukawa", "helmholtz", "table"}) {
        const YAML::Node answer = bench(std::string("--density 4 --layout ranges --kernel ") + kernel);
        EXPECT_EQ(answer["kernel"].as<std::string>(), kernel);
        EXPECT_GT(answer["layouts"][0]["pairs_per_s"].as<double>(), 0) << kernel;
    }
}

TEST_F(BenchNear, NamedLayoutsUnderACapAreMadeInChunks) {
    const YAML::Node free = bench("--density 8 --layout ranges,tiled,replicated_group --precision fp32");
    ASSERT_EQ(free["layouts"].size(), 3u);
    for (const YAML::Node& one : free["layouts"])
        EXPECT_EQ(one["chunks"].as<int>(), 1);
    const YAML::Node capped =
        bench("--density 8 --layout ranges,tiled,replicated_group --precision fp32 --memory 30000");
    for (const YAML::Node& one : capped["layouts"]) {
        EXPECT_GT(one["chunks"].as<int>(), 1) << one["layout"].as<std::string>();
        EXPECT_LE(one["bytes"].as<double>(), 30000) << one["layout"].as<std::string>();
    }
}

TEST_F(BenchNear, ThePapersTreeAndItsSerialLoop) {
    const YAML::Node answer = bench("--height 5 --dimension 2 --layout indexed,replicated --serial 2");
    EXPECT_EQ(answer["boxes"].as<int>(), 256) << "2^(5 - 1) along each axis";
    EXPECT_GT(answer["serial_s"].as<double>(), 0);
}

TEST_F(BenchNear, MistakesAreNamed) {
    for (const auto& [words, part] :
         {std::pair{"--layout nosuch", "nosuch"}, std::pair{"--dimension 4", "dimension"},
          std::pair{"--kernel gauss", "gauss"}, std::pair{"--executes 0", "executes"},
          std::pair{"--machine /no/such/file.yaml", "/no/such/file.yaml"},
          std::pair{"--layout replicated,tiled --memory 100", "no layout works within 100 bytes"}}) {
        const Outcome outcome = graft(std::string("bench p2p --n 100 --density 4 ") + words);
        EXPECT_NE(outcome.status, 0) << words;
        EXPECT_NE(outcome.err.find(part), std::string::npos) << words << ": " << outcome.err;
    }
}

} // namespace command_test
