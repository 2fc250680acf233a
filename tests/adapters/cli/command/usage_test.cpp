// SPDX-License-Identifier: BSD-3-Clause
// Help, errors, and the commands that compute nothing.
#include "program.hpp"

#include <algorithm>
#include <yaml-cpp/yaml.h> // JSON is YAML

namespace command_test {

namespace {

const char* const commands[] = {"run", "ic", "convert", "check", "bench", "deck", "info", "selftest"};

class Usage : public Program {};

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_F(Usage, HelpListsEveryCommandAndEachHasHelpAndJson) {
    const std::string help = ok("--help");
    for (const char* command : commands) {
        EXPECT_TRUE(contains(help, std::string("  ") + command + " ")) << command;
        const std::string own = ok(std::string(command) + " --help");
        EXPECT_TRUE(contains(own, "--json")) << command;
        EXPECT_TRUE(contains(own, std::string("graft ") + command)) << command;
    }
}

TEST_F(Usage, WhatAnswersInJsonAloneSaysSo) {
    for (const char* words : {"bench --help", "bench force --help", "bench orb --help", "bench p2p --help",
                              "model orb --help", "model roofline --help", "model schema --help"}) {
        EXPECT_TRUE(contains(ok(words), "as without it: the answer is JSON")) << words;
    }
    for (const char* words : {"check --help", "simulate --help", "model calibrate --help"}) {
        EXPECT_TRUE(contains(ok(words), "print the answer as JSON")) << words;
    }
    if (GRAFT_HAVE_STUDY) {
        EXPECT_EQ(ok("model schema"), ok("model schema --json"));
    }
}

TEST_F(Usage, WithoutTheStudyLibraryWhatMeasuresSaysSo) {
    std::filesystem::create_directories(folder_ / "bin");
    std::filesystem::create_directories(folder_ / "lib");
    std::filesystem::copy(GRAFT_COMMAND, folder_ / "bin/graft");
    std::filesystem::copy(GRAFT_LIBRARY_FILE, folder_ / "lib/libgraft.so.0");
    const std::string line = "cd '" + folder_.string() +
                             "' && bin/graft model schema --library \"$PWD/lib/libgraft.so.0\" >out.txt 2>err.txt";
    const int status = std::system(line.c_str());
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_EQ(read("out.txt"), "");
    for (const char* part : {"no study library", "lib/libgraft_study.so", "GRAFT_WITH_STUDY=ON"}) {
        EXPECT_TRUE(contains(read("err.txt"), part)) << read("err.txt");
    }
}

TEST_F(Usage, MistakesOnTheCommandLineExitWith2AndOneLine) {
    for (const char* words : {"", "frobnicate", "check --theta", "check --foo 1", "ic plummer", "run", "deck",
                              "convert only_one", "check --sweep theta", "check --n abc", "bench",
                              "ic plummer -o x.csv --set nothing=3", "ic nosuch -o x.csv"}) {
        const Outcome outcome = graft(words);
        EXPECT_EQ(outcome.status, 2) << words << ": " << outcome.err;
        EXPECT_FALSE(outcome.err.empty()) << words;
    }
    const Outcome outcome = graft("ic nosuch -o x.csv");
    EXPECT_TRUE(contains(outcome.err, "plummer, hernquist")) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
    EXPECT_FALSE(exists("x.csv"));
}

TEST_F(Usage, FailuresExitWith1AndSayWhat) {
    const Outcome missing = graft("convert nothing.hdf5 out.csv");
    EXPECT_EQ(missing.status, 1);
    EXPECT_TRUE(contains(missing.err, "nothing.hdf5")) << missing.err;
    const Outcome library = graft("info --library /no/such/libgraft.so");
    EXPECT_EQ(library.status, 1);
    EXPECT_TRUE(contains(library.err, "/no/such/libgraft.so")) << library.err;
}

TEST_F(Usage, InfoNamesTheLibrary) {
    const YAML::Node info = YAML::Load(ok("info --json"));
    EXPECT_TRUE(contains(info["library"].as<std::string>(), "libgraft.so"));
    EXPECT_EQ(info["abi"]["major"].as<int>(), 1);
    EXPECT_FALSE(info["machine"]["simd"].as<std::string>().empty());
}

TEST_F(Usage, TheLibraryBesideTheCommandIsFoundWithoutEnvironment) {
#if defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "AddressSanitizer's own dlopen does not look along the command's run path";
#endif
    const Outcome outcome = graft("info", "env -u GRAFT_LIBRARY -u LD_LIBRARY_PATH");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST_F(Usage, DeckIsExplainedAndChecked) {
    EXPECT_TRUE(contains(ok("deck --explain"), "mac.theta"));
    EXPECT_FALSE(contains(ok("deck --explain"), "study.walk"));
    EXPECT_TRUE(contains(ok("deck --explain --study"), "study.walk"));
    EXPECT_TRUE(YAML::Load(ok("deck --explain --json")).size() > 10);
    write("good.yaml", "mac: {theta: 0.5}\n");
    write("bad.yaml", "mac:\n  theat: 0.5\n");
    ok("deck --check good.yaml");
    const Outcome bad = graft("deck --check bad.yaml");
    EXPECT_EQ(bad.status, 1);
    EXPECT_TRUE(contains(bad.err, "bad.yaml:2:3") && contains(bad.err, "mac.theta")) << bad.err;
    const YAML::Node answer = YAML::Load(graft("deck --check bad.yaml --json").out);
    EXPECT_FALSE(answer["ok"].as<bool>());
    EXPECT_EQ(answer["status"].as<int>(), 501);
    write("flat.yaml", "dimension: 2\nbox: {periodic: xyz, x: 1, y: 1, z: 1}\n"); // each key is fine
    const Outcome flat = graft("deck --check flat.yaml");
    EXPECT_EQ(flat.status, 1);
    EXPECT_TRUE(contains(flat.err, "flat.yaml: box.periodic") && contains(flat.err, "three dimensions"))
        << flat.err;
    write("elsewhere.yaml", "backend: gpu\n"); // where the job runs, not here
    ok("deck --check elsewhere.yaml");
}

TEST_F(Usage, InitialConditionsRepeatAndConvertKeepsThem) {
    for (const char* kind :
         {"plummer", "hernquist", "cube", "clustered", "galaxy", "orbits", "belt", "cold-sphere"}) {
        const std::string words = std::string("ic ") + kind + " --n 300 --seed 7 -o ";
        ok(words + "a.csv");
        ok(words + "b.csv");
        EXPECT_EQ(read("a.csv"), read("b.csv")) << kind;
        EXPECT_GT(read("a.csv").size(), 1000u) << kind;
    }
    ok("ic plummer --n 100 -o p.csv");
    ok("convert p.csv p.hdf5");
    ok("convert p.hdf5 q.csv");
    EXPECT_EQ(read("p.csv"), read("q.csv"));
    ok("convert p.csv little.tipsy");
    ok("convert p.csv big.tipsy --byte-order big");
    EXPECT_NE(read("little.tipsy"), read("big.tipsy"));
    ok("convert big.tipsy back.tipsy");
    EXPECT_EQ(read("little.tipsy"), read("back.tipsy"));
}

TEST_F(Usage, PicturesAreWrittenAndCanShareAScale) {
    ok("ic galaxy --n 3000 -o g.hdf5");
    ok("convert g.hdf5 g.png --pixels 200 --title before");
    ok("convert g.hdf5 h.png --pixels 200 --title before --like g.hdf5");
    ok("convert g.hdf5 small.png --pixels 200 --title before --half-width 1");
    EXPECT_EQ(read("g.png").substr(1, 3), "PNG");
    EXPECT_EQ(read("g.png"), read("h.png"));
    EXPECT_NE(read("g.png"), read("small.png"));
}

} // namespace command_test
