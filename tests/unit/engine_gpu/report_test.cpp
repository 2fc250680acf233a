// SPDX-License-Identifier: BSD-3-Clause
// What a computation on a GPU (a stand-in, see fake/) tells of itself, and one on the CPU after it no longer.
#include "fake/force_gpu.hpp"

#include "bodies.hpp"
#include "fake_library.hpp"
#include "forces/gpu_kernel.hpp"
#include "engine/solver.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace graft::engine {
namespace {

using forces::DeviceKernel;

std::string words_of(const Report& report, const char* key) {
    std::string words = "nothing";
    report.find_words(key, &words);
    return words;
}

Report report_of(settings::Backend backend, settings::Method method, DeviceKernel kernel) {
    test::fake_control<fake::Control>(GRAFT_FAKE_CUDA);
    settings::Settings settings;
    settings.backend = backend, settings.method = method, settings.accuracy = 1e-3;
    settings.device.kernel = static_cast<int32_t>(kernel);
    core::Memory memory;
    Solver solver(settings, memory);
    support::Bodies bodies(500);
    bodies.compute(solver);
    return solver.report();
}

TEST(DeviceReport, SaysWhoseBitsDifferFromRunToRun) {
    for (const DeviceKernel kernel :
         {DeviceKernel::automatic, DeviceKernel::units, DeviceKernel::block_per_group, DeviceKernel::pairs_1d,
          DeviceKernel::tiles_2d}) {
        const Report report = report_of(settings::Backend::cuda, settings::Method::tree, kernel);
        const std::string words = words_of(report, "kernel");
        const bool atomic = kernel == DeviceKernel::pairs_1d || kernel == DeviceKernel::tiles_2d;
        EXPECT_EQ(words.find("last bits differ from run to run") != std::string::npos, atomic) << words;
        EXPECT_NE(report.json().find("\"kernel\":\"" + words + "\""), std::string::npos) << report.json();
    }
    EXPECT_EQ(words_of(report_of(settings::Backend::cuda, settings::Method::tree, DeviceKernel::automatic), "kernel"), "units");
}

TEST(DeviceReport, SaysNothingOfAKernelWhereNoListsWereEvaluatedOnAGpu) {
    EXPECT_EQ(words_of(report_of(settings::Backend::cuda, settings::Method::direct, DeviceKernel::pairs_1d), "kernel"),
              "nothing");
    const Report cpu = report_of(settings::Backend::cpu, settings::Method::tree, DeviceKernel::pairs_1d);
    for (const char* key : {"kernel", "device", "note"})
        EXPECT_EQ(words_of(cpu, key), "nothing") << key;
    EXPECT_EQ(cpu.json().find("\"kernel\""), std::string::npos);
}

TEST(DeviceReport, WarnsOfAnAccuracyBeyondAGpusOrdersOnceAndAgainWhenItChanges) {
    test::fake_control<fake::Control>(GRAFT_FAKE_CUDA);
    settings::Settings settings;
    settings.backend = settings::Backend::cuda, settings.precision = settings::Precision::fp64;
    settings.order = -1, settings.accuracy = 1e-7;
    core::Memory memory;
    Solver solver(settings, memory);
    support::Bodies bodies(500);
    bodies.compute(solver); // nobody hears of it
    std::string text;
    solver.log().user = &text;
    solver.log().callback = [](void* user, int32_t, const char* line) { *static_cast<std::string*>(user) += line; };
    const auto said = [&] {
        bodies.compute(solver);
        return std::exchange(text, "");
    };
    EXPECT_NE(said().find("mac.accuracy 1e-07: at order 4"), std::string::npos);
    EXPECT_EQ(said(), "");
    solver.change_settings().theta = 0.9;
    EXPECT_EQ(said(), "");
    solver.change_settings().accuracy = 1e-8;
    EXPECT_NE(said().find("mac.accuracy 1e-08"), std::string::npos);
    EXPECT_EQ(said(), "");
}

} // namespace
} // namespace graft::engine
