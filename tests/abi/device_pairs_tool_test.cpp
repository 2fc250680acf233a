// run_tool "bench" with what: p2p and backend: cuda, on machines with and without a GPU.
#include "graft_loader.h"

#include <gtest/gtest.h>

#include <string>

namespace {

class PairsTool : public testing::Test {
  protected:
    void SetUp() override {
        char message[1024];
        ASSERT_EQ(graft_load(GRAFT_REAL, &api, message, sizeof message), GRAFT_OK) << message;
    }
    static void append(void* user, const char* text, int64_t bytes) {
        static_cast<std::string*>(user)->append(text, static_cast<size_t>(bytes));
    }
    int32_t run(const std::string& name, const std::string& arguments) {
        answer.clear();
        return api->run_tool(name.c_str(), arguments.c_str(), append, &answer);
    }
    void expect_refused(const std::string& arguments, const char* words) {
        EXPECT_EQ(run("bench", "what: p2p\nbackend: cuda\n" + arguments), GRAFT_ERROR_ARGUMENT);
        EXPECT_NE(std::string(api->last_error()).find(words), std::string::npos) << api->last_error();
    }
    const graft_api_v1* api = nullptr;
    std::string answer;
};

TEST_F(PairsTool, RefusesWhatItDoesNotKnow) {
    expect_refused("precision: half", "fp32, mixed, fp64 or all");
    expect_refused("n: 0", "from 1 to");
    expect_refused("n: 10.5", "whole number");
    expect_refused("block: 2000", "from 1 to 1024");
    expect_refused("colour: red", "there is no argument 'colour'");
    EXPECT_EQ(run("bench", "what: p2p\nbackend: gpu\n"), GRAFT_ERROR_ARGUMENT);
    EXPECT_EQ(run("bench", "what: m2p\nbackend: cuda\n"), GRAFT_ERROR_ARGUMENT);
}

TEST_F(PairsTool, MeasuresOrSaysThatThereIsNoDevice) {
    ASSERT_EQ(run("info", ""), GRAFT_OK);
    const bool device = answer.find("\"cuda\":{\"usable\":true") != std::string::npos;
    const int32_t status = run("bench", "what: p2p\nbackend: cuda\nn: 5000\nrepetitions: 1\n");
    if (!device) {
        EXPECT_EQ(status, GRAFT_ERROR_DEVICE);
        EXPECT_NE(std::string(api->last_error()).find("backend gpu"), std::string::npos)
            << api->last_error();
        return;
    }
    ASSERT_EQ(status, GRAFT_OK) << api->last_error();
    for (const char* word : {"\"fp32\":{", "\"mixed\":{", "\"fp64\":{", "\"stage_0\":{", "\"best\":{",
                             "\"mix_pairs_per_s\":", "\"share_of_limit\":", "\"read_bytes_per_s\":"})
        EXPECT_NE(answer.find(word), std::string::npos) << word << " in " << answer;
}

} // namespace
