// SPDX-License-Identifier: BSD-3-Clause
// The loader against every kind of library that is missing, damaged, foreign, older or newer: a status, a
// message that a person can act on, and a host that lives on.
#include "graft_loader.h"
#include "graft_mpi_loader.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/stat.h>

namespace {

struct Loaded {
    int32_t status;
    const graft_api_v1* api;
    std::string message;
};

Loaded load(const char* path) {
    Loaded result{};
    char message[4096] = "untouched";
    result.status = graft_load(path, &result.api, message, sizeof message);
    result.message = message;
    return result;
}

std::string fake(const char* name) {
    return std::string(GRAFT_FAKES) + "/libfake_" + name + ".so";
}

void expect_failure(const Loaded& result, int32_t status, std::initializer_list<std::string> words) {
    EXPECT_EQ(result.status, status) << result.message;
    EXPECT_EQ(result.api, nullptr);
    for (const std::string& word : words)
        EXPECT_NE(result.message.find(word), std::string::npos)
            << "'" << word << "' not in: " << result.message;
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// A file of this test's own, removed afterwards.
class TemporaryFile {
  public:
    explicit TemporaryFile(const std::string& content) {
        path_ =
            (std::filesystem::temp_directory_path() / ("graft_loader_" + std::to_string(getpid()) + ".so"))
                .string();
        std::ofstream(path_, std::ios::binary) << content;
    }
    ~TemporaryFile() { std::filesystem::remove(path_); }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

/// Sets an environment variable for one test.
class Environment {
  public:
    Environment(const char* name, const char* value) : name_(name) {
        if (const char* old = getenv(name)) {
            had_ = true;
            old_ = old;
        }
        value != nullptr ? setenv(name, value, 1) : unsetenv(name);
    }
    ~Environment() { had_ ? setenv(name_, old_.c_str(), 1) : unsetenv(name_); }

  private:
    const char* name_;
    bool had_ = false;
    std::string old_;
};

// First of all: once a library of this name is loaded, the dynamic linker finds it without searching.
TEST(Loader, MissingByEveryWay) {
    expect_failure(load("/no/such/libgraft.so.1"), GRAFT_ERROR_LOAD_NOT_FOUND,
                   {"explicit path: /no/such/libgraft.so.1: not found", "No such file", "GRAFT_LIBRARY="});
    {
        const Environment variable("GRAFT_LIBRARY", "/no/such/either.so");
        expect_failure(load(nullptr), GRAFT_ERROR_LOAD_NOT_FOUND,
                       {"environment variable GRAFT_LIBRARY: /no/such/either.so: not found"});
    }
    const Environment variable("GRAFT_LIBRARY", nullptr);
    expect_failure(load(nullptr), GRAFT_ERROR_LOAD_NOT_FOUND,
                   {"compiled-in default: /nowhere/libgraft.so.1: not found",
                    "dynamic linker's search: libgraft.so.1: not found", "libgraft was not found"});
}

TEST(Loader, TheRealLibraryLoadsByPathAndByEnvironment) {
    const Loaded by_path = load(GRAFT_REAL);
    ASSERT_EQ(by_path.status, GRAFT_OK) << by_path.message;
    EXPECT_EQ(by_path.message, "");
    EXPECT_EQ(by_path.api->abi_major, GRAFT_ABI_MAJOR);
    EXPECT_EQ(by_path.api->struct_size, sizeof(graft_api_v1));
    EXPECT_STREQ(by_path.api->version(), GRAFT_VERSION);
    EXPECT_EQ(graft_table_complete(by_path.api, nullptr, 0), GRAFT_OK);
    const Environment variable("GRAFT_LIBRARY", GRAFT_REAL);
    EXPECT_EQ(load(nullptr).api, by_path.api);
    EXPECT_EQ(load("").api, by_path.api);
}

TEST(Loader, NotALibraryAtAll) {
    const TemporaryFile text("#!/bin/sh\necho this is a text file, long enough for a header\n");
    expect_failure(load(text.path().c_str()), GRAFT_ERROR_LOAD_FOREIGN, {text.path(), "no shared library"});
    expect_failure(load("/"), GRAFT_ERROR_LOAD_FOREIGN, {"explicit path: /"});
}

TEST(Loader, AFileCutShortAnywhereIsRefusedAndTheHostLives) {
    const std::string whole = read_file(GRAFT_REAL);
    ASSERT_GT(whole.size(), 10000u);
    for (size_t bytes :
         {size_t{0}, size_t{1}, size_t{16}, size_t{63}, size_t{64}, size_t{100}, size_t{4096}, size_t{10000},
          whole.size() / 4, whole.size() / 2, whole.size() * 3 / 4, whole.size() - 4096, whole.size() - 1}) {
        const TemporaryFile cut(whole.substr(0, bytes));
        expect_failure(load(cut.path().c_str()), GRAFT_ERROR_LOAD_FOREIGN, {cut.path()});
    }
    const TemporaryFile complete(whole);
    EXPECT_EQ(load(complete.path().c_str()).status, GRAFT_OK);
}

TEST(Loader, ForeignAndLyingLibraries) {
    expect_failure(load(fake("foreign").c_str()), GRAFT_ERROR_LOAD_FOREIGN, {"not Graft", "graft_get_api"});
    expect_failure(load(fake("tiny").c_str()), GRAFT_ERROR_LOAD_FOREIGN, {"claims 8 bytes"});
    expect_failure(load(fake("other_major").c_str()), GRAFT_ERROR_LOAD_VERSION,
                   {"does not speak ABI major 1"});
    expect_failure(load(fake("lying").c_str()), GRAFT_ERROR_LOAD_VERSION, {"ABI major 2", "built for 1"});
}

TEST(Loader, AnOlderTableIsUsableEntryByEntry) {
    const Loaded older = load(fake("older").c_str());
    ASSERT_EQ(older.status, GRAFT_OK) << older.message;
    EXPECT_TRUE(GRAFT_HAS(older.api, options_create));
    EXPECT_FALSE(GRAFT_HAS(older.api, options_destroy)); // within the table, but NULL
    EXPECT_FALSE(GRAFT_HAS(older.api, options_set));     // beyond it
    char message[512];
    EXPECT_EQ(graft_table_complete(older.api, message, sizeof message), GRAFT_ERROR_ABSENT);
    EXPECT_NE(std::string(message).find("older than this host"), std::string::npos) << message;
}

TEST(Loader, ANewerTableIsFine) {
    const Loaded newer = load(fake("newer").c_str());
    ASSERT_EQ(newer.status, GRAFT_OK) << newer.message;
    EXPECT_GT(newer.api->struct_size, sizeof(graft_api_v1));
    EXPECT_EQ(graft_table_complete(newer.api, nullptr, 0), GRAFT_OK);
}

TEST(Loader, SmallBuffersAndNullsAreSafe) {
    const graft_api_v1* api = nullptr;
    char small[9] = "12345678";
    EXPECT_EQ(graft_load("/no/such", &api, small, 5), GRAFT_ERROR_LOAD_NOT_FOUND);
    EXPECT_EQ(std::string(small), "expl");
    EXPECT_EQ(small[5], '6');
    EXPECT_EQ(graft_load("/no/such", &api, nullptr, 0), GRAFT_ERROR_LOAD_NOT_FOUND);
    EXPECT_EQ(graft_load("/no/such", &api, small, -3), GRAFT_ERROR_LOAD_NOT_FOUND);
    EXPECT_EQ(graft_load(GRAFT_REAL, nullptr, small, sizeof small), GRAFT_ERROR_ARGUMENT);
    EXPECT_EQ(graft_table_complete(nullptr, small, sizeof small), GRAFT_ERROR_ARGUMENT);
}

TEST(Loader, DebugPrintsTheSearchAndNothingElsePrints) {
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    load("/no/such");
    load(GRAFT_REAL);
    EXPECT_EQ(testing::internal::GetCapturedStderr() + testing::internal::GetCapturedStdout(), "");
    const Environment variable("GRAFT_LOAD_DEBUG", "1");
    testing::internal::CaptureStderr();
    load("/no/such");
    load(GRAFT_REAL);
    const std::string printed = testing::internal::GetCapturedStderr();
    EXPECT_NE(printed.find("explicit path: /no/such: not found"), std::string::npos) << printed;
    EXPECT_NE(printed.find("loaded, ABI 1." + std::to_string(GRAFT_ABI_MINOR)), std::string::npos) << printed;
}

TEST(Loader, WhatIsNoRegularFileIsRefusedAtOnce) {
    const auto folder =
        std::filesystem::temp_directory_path() / ("graft_no_file_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder / "libgraft.so");
    const std::string pipe = (folder / "libgraft.so.0").string();
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    for (const std::string& path : {pipe, (folder / "libgraft.so").string(), std::string("/dev/zero")})
        expect_failure(load(path.c_str()), GRAFT_ERROR_LOAD_FOREIGN, {path, "no regular file"});
    const Environment library("GRAFT_LIBRARY", pipe.c_str());
    expect_failure(load(nullptr), GRAFT_ERROR_LOAD_FOREIGN, {"GRAFT_LIBRARY", pipe, "no regular file"});
    {
        const Environment bare("GRAFT_LIBRARY", "libgraft.so.0"), path("LD_LIBRARY_PATH", folder.c_str());
        expect_failure(load(nullptr), GRAFT_ERROR_LOAD_FOREIGN, {"no regular file"});
    }
    const Environment shim("GRAFT_MPI_LIBRARY", pipe.c_str());
    char why[1024];
    int32_t status = GRAFT_OK;
    EXPECT_EQ(graft_open_mpi_shim("mpich", &status, why, sizeof why), nullptr);
    EXPECT_EQ(status, GRAFT_ERROR_LOAD_FOREIGN);
    EXPECT_NE(std::string(why).find(pipe + ": no regular file"), std::string::npos) << why;
    std::filesystem::remove_all(folder);
}

} // namespace
