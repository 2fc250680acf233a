// SPDX-License-Identifier: BSD-3-Clause
// Running the `graft` command from tests: a folder per test, exit status, stdout and stderr.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace command_test {

struct Outcome {
    int status = -1; ///< exit status; 128 + signal when a signal ended it
    std::string out, err;
};

inline std::string read_text(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

class Program : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "graft_command_XXXXXX";
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    /// Runs `graft <words>` through the shell in the test's folder.
    Outcome graft(const std::string& words, const std::string& environment = "") const {
        const std::string line = "cd '" + folder_.string() + "' && " + environment + " '" GRAFT_COMMAND "' " +
                                 words + " >out.txt 2>err.txt </dev/null";
        const int raw = std::system(line.c_str());
        return {WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw), read_text(folder_ / "out.txt"),
                read_text(folder_ / "err.txt")};
    }

    /// The same, which must succeed; stdout.
    std::string ok(const std::string& words) const {
        const Outcome outcome = graft(words);
        EXPECT_EQ(outcome.status, 0) << "graft " << words << "\n" << outcome.err;
        return outcome.out;
    }

    /// Starts `graft run deck.yaml`, sends `signal` once `file` exists, and returns the exit status.
    int interrupt(const std::string& deck, const std::string& file, int signal) const {
        const pid_t child = fork();
        if (child == 0) {
            const bool moved = chdir(folder_.c_str()) == 0 && freopen("err.txt", "w", stderr) != nullptr &&
                               freopen("out.txt", "w", stdout) != nullptr;
            if (moved) {
                execl(GRAFT_COMMAND, GRAFT_COMMAND, "run", deck.c_str(), static_cast<char*>(nullptr));
            }
            _exit(127);
        }
        for (int wait = 0; wait < 1000 && !std::filesystem::exists(folder_ / file); ++wait) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        kill(child, signal);
        int raw = 0;
        waitpid(child, &raw, 0);
        return WIFEXITED(raw) ? WEXITSTATUS(raw) : -WTERMSIG(raw);
    }

    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name) << text;
    }
    std::string read(const std::string& name) const { return read_text(folder_ / name); }
    bool exists(const std::string& name) const { return std::filesystem::exists(folder_ / name); }

    std::filesystem::path folder_;
};

} // namespace command_test
