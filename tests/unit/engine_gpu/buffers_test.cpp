// SPDX-License-Identifier: BSD-3-Clause
// Deck key study.buffer with a stand-in for the GPU (fake/): which buffers the engine is asked for, and what
// is told of them.
#include "fake/force_gpu.hpp"

#include "bodies.hpp"
#include "fake_library.hpp"
#include "engine/buffer_tuning.hpp"
#include "engine/solver.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace graft::engine {
namespace {

constexpr int32_t units = 1, pairs_1d = 3, tiles_2d = 4; // study.kernel

fake::Control& control() {
    return test::fake_control<fake::Control>(GRAFT_FAKE_CUDA);
}

struct Fed {
    core::Memory memory;
    support::Bodies bodies{3000};
    Solver solver;

    Fed(int32_t kernel, int32_t buffer) : solver(settings_of(kernel, buffer), memory) {
        control().buffers.clear();
        control().feed_s = nullptr;
    }
    static settings::Settings settings_of(int32_t kernel, int32_t buffer) {
        settings::Settings settings;
        settings.backend = settings::Backend::cuda, settings.precision = settings::Precision::fp64, settings.accuracy = 1e-3;
        settings.device.kernel = kernel, settings.device.buffer = buffer;
        return settings;
    }
    const engine::BufferTuning::Told& compute() {
        bodies.compute(solver);
        return solver.buffers().told();
    }
    double figure(const char* key) const {
        double value = -1;
        return solver.report().find(key, &value) ? value : -1;
    }
};

TEST(Buffers, TheListsStayUnlessABufferIsAskedForAndTheKernelTakesIt) {
    for (const auto& [kernel, buffer] : {std::pair{pairs_1d, 0}, {units, 4096}, {units, settings::feed_auto}}) {
        Fed run(kernel, buffer);
        EXPECT_EQ(run.compute().fed.buffer, 0);
        EXPECT_EQ(control().buffers.back(), 0);
        EXPECT_EQ(run.figure("time_s.feed"), -1);
    }
    Fed direct(pairs_1d, settings::feed_auto);
    direct.solver.change_settings().method = settings::Method::direct;
    direct.compute();
    EXPECT_EQ(control().buffers.back(), 0);
}

TEST(Buffers, ANumberIsTakenAndItsTimesAreTold) {
    Fed run(tiles_2d, 4096);
    control().feed_s = [](int32_t) { return 0.125; };
    for (int call = 0; call < 3; ++call) {
        const engine::BufferTuning::Told& told = run.compute();
        EXPECT_EQ(control().buffers.back(), 4096);
        EXPECT_EQ(told.by, "given");
        EXPECT_GT(told.predicted.total_s(), 0);
    }
    EXPECT_EQ(run.figure("time_s.feed"), 0.125);
    EXPECT_EQ(run.figure("time_s.feed_append"), 0.0625);
    EXPECT_EQ(run.figure("time_s.feed_call"), 0.03125);
}

TEST(Buffers, AutoTriesWhatTheModelSaysAndKeepsTheFastest) {
    Fed run(pairs_1d, settings::feed_auto);
    control().feed_s = [](int32_t buffer) { return 1e-6 * buffer; };
    run.compute();
    for (int call = 0; call < 12; ++call)
        run.compute();
    const std::vector<int32_t>& used = control().buffers;
    const std::set<int32_t> tried(used.begin() + 1, used.end());
    EXPECT_GE(tried.size(), 2u);
    EXPECT_LE(tried.size(), 3u);
    EXPECT_EQ(used.back(), *tried.begin());
    const std::string by = run.solver.buffers().told().by;
    EXPECT_EQ(by.substr(0, 3), "by ") << by;
    run.solver.change_settings().device.kernel = units;
    run.compute();
    EXPECT_EQ(used.back(), 0);
}

} // namespace
} // namespace graft::engine
