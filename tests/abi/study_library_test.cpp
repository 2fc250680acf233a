// SPDX-License-Identifier: BSD-3-Clause
// The study library through its one function, on machines with and without a GPU.
#include "study_library.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace {

class StudyLibrary : public testing::Test {
  protected:
    static void append(void* user, const char* text, int64_t bytes) {
        static_cast<std::string*>(user)->append(text, static_cast<size_t>(bytes));
    }
    int32_t run(const char* name, const std::string& arguments) {
        answer.clear();
        return graft_study_run(name, arguments.c_str(), append, &answer);
    }
    void expect_refused(const char* name, const std::string& arguments, int32_t status, const char* words) {
        EXPECT_EQ(run(name, arguments), status) << arguments;
        EXPECT_NE(answer.find(words), std::string::npos) << answer;
    }
    std::string answer;
};

TEST_F(StudyLibrary, WhatIsMissingIsNamed) {
    expect_refused(nullptr, "", GRAFT_ERROR_ARGUMENT, "name is NULL");
    expect_refused("no such study", "", GRAFT_ERROR_ARGUMENT, "known: bench, simulate, model, force");
    expect_refused("bench", "a: [", GRAFT_ERROR_DECK_SYNTAX, "arguments:");
    EXPECT_EQ(graft_study_run("model", "what: schema", nullptr, nullptr), GRAFT_ERROR_ARGUMENT);
}

TEST_F(StudyLibrary, ForcesAreMeasuredByDeckKeys) {
    EXPECT_EQ(setenv("GRAFT_MACHINE", "/nowhere", 1), 0); // the numbers of tree.sizes
    expect_refused("force", "n: 100", GRAFT_ERROR_DECK_FILE, "/nowhere");
    EXPECT_EQ(unsetenv("GRAFT_MACHINE"), 0);
    EXPECT_EQ(run("force", "n: 100\ntree.leaf: 7"), GRAFT_OK) << answer;
    EXPECT_NE(answer.find("\"leaf\":7"), std::string::npos) << answer;
    expect_refused("force", "n: 100\ntree.leaf: 0.5", GRAFT_ERROR_DECK_TYPE, "tree.leaf");
    expect_refused("force", "colour: red", GRAFT_ERROR_ARGUMENT, "there is no argument 'colour'");
}

TEST_F(StudyLibrary, AllPairsRefuseWhatTheyDoNotKnow) {
    const auto refused = [&](const std::string& arguments, const char* words) {
        expect_refused("bench", "what: p2p\nbackend: gpu\n" + arguments, GRAFT_ERROR_ARGUMENT, words);
    };
    refused("precision: half", "fp32, mixed, fp64 or all");
    refused("n: 0", "from 1 to");
    refused("n: 10.5", "whole number");
    refused("block: 2000", "from 1 to 1024");
    refused("colour: red", "there is no argument 'colour'");
    EXPECT_EQ(run("bench", "what: p2p\nbackend: cuda\n"), GRAFT_ERROR_ARGUMENT);
    EXPECT_EQ(run("bench", "what: m2p\nbackend: gpu\n"), GRAFT_ERROR_ARGUMENT);
}

TEST_F(StudyLibrary, AllPairsAreMeasuredOrThereIsNoDevice) {
    const int32_t status = run("bench", "what: p2p\nbackend: gpu\nn: 5000\nrepetitions: 1\n");
    if (status == GRAFT_ERROR_DEVICE) {
        EXPECT_NE(answer.find("backend gpu"), std::string::npos) << answer;
        return;
    }
    ASSERT_EQ(status, GRAFT_OK) << answer;
    for (const char* word : {"\"fp32\":{", "\"mixed\":{", "\"fp64\":{", "\"stage_0\":{", "\"best\":{",
                             "\"mix_pairs_per_s\":", "\"share_of_limit\":", "\"read_bytes_per_s\":"})
        EXPECT_NE(answer.find(word), std::string::npos) << word << " in " << answer;
}

} // namespace
