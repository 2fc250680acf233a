// What a computation on a GPU (a stand-in, see fake/) tells of itself, and one on the CPU after it no longer.
#include "fake/force_gpu.hpp"

#include "bodies.hpp"
#include "fake_library.hpp"
#include "forces/gpu_kernel.hpp"
#include "engine/solver.hpp"

#include <gtest/gtest.h>

namespace graft::pipeline {
namespace {

using kernels::DeviceKernel;

std::string words_of(const Report& report, const char* key) {
    std::string words = "nothing";
    report.find_words(key, &words);
    return words;
}

Report report_of(Backend backend, Method method, DeviceKernel kernel) {
    test::fake_control<fake::Control>(GRAFT_FAKE_CUDA);
    Settings settings;
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
        const Report report = report_of(Backend::cuda, Method::tree, kernel);
        const std::string words = words_of(report, "kernel");
        const bool atomic = kernel == DeviceKernel::pairs_1d || kernel == DeviceKernel::tiles_2d;
        EXPECT_EQ(words.find("last bits differ from run to run") != std::string::npos, atomic) << words;
        EXPECT_NE(report.json().find("\"kernel\":\"" + words + "\""), std::string::npos) << report.json();
    }
    EXPECT_EQ(words_of(report_of(Backend::cuda, Method::tree, DeviceKernel::automatic), "kernel"), "units");
}

TEST(DeviceReport, SaysNothingOfAKernelWhereNoListsWereEvaluatedOnAGpu) {
    EXPECT_EQ(words_of(report_of(Backend::cuda, Method::direct, DeviceKernel::pairs_1d), "kernel"),
              "nothing");
    const Report cpu = report_of(Backend::cpu, Method::tree, DeviceKernel::pairs_1d);
    for (const char* key : {"kernel", "device", "note"})
        EXPECT_EQ(words_of(cpu, key), "nothing") << key;
    EXPECT_EQ(cpu.json().find("\"kernel\""), std::string::npos);
}

} // namespace
} // namespace graft::pipeline
