// SPDX-License-Identifier: BSD-3-Clause
// Machine files: what is wrong is refused with its place and the nearest key; the shipped ones are read.
#include "deck/machine_file.hpp"
#include "guard.hpp"
#include "study/tools/tools.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace {

using graft::core::Status;
using graft::plugin::read_machine;

struct Failure {
    Status status = Status::ok;
    std::string message;
};

Failure failure_of(const std::string& text) {
    try {
        read_machine(text, "m");
    } catch (const graft::core::Error& error) {
        return {error.status(), error.what()};
    }
    return {};
}

void expect_failure(const std::string& text, Status status, const std::string& words) {
    const Failure failure = failure_of(text);
    EXPECT_EQ(failure.status, status) << text;
    EXPECT_NE(failure.message.find(words), std::string::npos) << failure.message << "\nexpected: " << words;
}

TEST(MachineFile, UnknownKeysNameTheNearest) {
    expect_failure("cpu:\n  core: 3\n", Status::deck_key, "m:2:3: key 'cpu.core': no such key");
    expect_failure("cpu:\n  core: 3\n", Status::deck_key, "did you mean 'cpu.cores'?");
    expect_failure("launch_s: 1\n", Status::deck_key, "did you mean 'gpu.launch_s'?");
    expect_failure("gpu: {read_bandwith_bytes_per_s: 1}", Status::deck_key,
                   "'gpu.read_bandwidth_bytes_per_s'?");
    expect_failure("cpu: {caches: [{byte: 1}]}", Status::deck_key, "'cpu.caches.#.bytes'?");
    expect_failure("colour: red", Status::deck_key, "allowed: name, cpu: ..., gpu: ..., link: ...");
    expect_failure("cpu: {caches: {bytes: 1}}", Status::deck_key, "m:1:16: key 'cpu.caches.bytes'");
}

TEST(MachineFile, WrongValuesHaveTheirPlace) {
    expect_failure("name: a\ngpu:\n  flops: 3 GB\n", Status::deck_type,
                   "m:3:10: key 'gpu.flops': expected a number, found '3 GB'");
    expect_failure("gpu: {flops: -1}", Status::deck_range, "found -1");
    expect_failure("gpu: {flops: }", Status::deck_type, "found none");
    expect_failure("gpu: {flops: [1]}", Status::deck_type, "found a list");
    expect_failure("gpu: 1", Status::deck_type, "expected a section with keys gpu.name");
    expect_failure("cpu: {caches: [{bytes: 1}, {}, {}, {}, {bytes: 1}]}", Status::deck_range, "at most 4");
    expect_failure("a: [", Status::deck_syntax, "m:1:");
}

TEST(MachineFile, ValuesInTheirOrder) {
    const auto values = read_machine("name: a b\ngpu:\ncpu: {caches: [{bytes: 1}, {bytes: 2e3}]}", "m");
    const std::vector<std::pair<std::string, std::string>> expected = {
        {"name", "a b"}, {"cpu.caches.0.bytes", "1"}, {"cpu.caches.1.bytes", "2e3"}};
    EXPECT_EQ(values, expected);
    EXPECT_TRUE(read_machine("", "m").empty());
}

TEST(MachineFile, ShippedOnesAreReadAndPredict) {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(GRAFT_MACHINES)) {
        graft::study::ToolArguments arguments = {{"what", "orb"}};
        for (auto& [key, text] : graft::plugin::read_machine_file(entry.path().string()))
            arguments.emplace_back("machine." + key, text);
        EXPECT_NE(graft::study::run_tool("model", arguments).find("\"paper\":{"), std::string::npos)
            << entry.path();
        ++files;
    }
    EXPECT_GE(files, 3);
}

TEST(MachineFile, CalibrationIsAFileThatIsRead) {
    const std::string yaml = graft::study::run_tool("model", {{"what", "calibrate"},
                                                             {"format", "yaml"},
                                                             {"backend", "cpu"},
                                                             {"threads", "1"},
                                                             {"repetitions", "1"}});
    double known = 0;
    for (const auto& [key, text] : read_machine(yaml, "calibrated"))
        if (key == "cpu.read_bandwidth_bytes_per_s" || key == "cpu.core_pairs_fp32_per_s")
            known += std::stod(text) > 1e6 ? 1 : 0;
    EXPECT_EQ(known, 2) << yaml;
    for (const char* part :
         {" s caches\n", " s arrays\n", " s memory\n", " s loops of the CPU\n",
          " s near field on the CPU, 2-D, fp64\n", " s near field on the CPU, 3-D, fp32\n"})
        EXPECT_NE(yaml.find(part), std::string::npos) << part; // where the time has gone
    for (const int layout : {2, 4, 7, 8}) // records with and without padding are measured each by itself
        for (const int bytes : {4, 8})
            EXPECT_NE(
                yaml.find("layout: " + std::to_string(layout) + ", number_bytes: " + std::to_string(bytes)),
                std::string::npos)
                << layout << ' ' << bytes;
}

} // namespace
