// SPDX-License-Identifier: BSD-3-Clause
// study.buffer on a GPU: forces stay right whatever is fed, `auto` ends with a size it keeps, and what is
// predicted and measured is there.
#include "bodies.hpp"
#include "library_fixture.hpp"
#include "engine/buffer_tuning.hpp"
#include "small.hpp"

#include <set>

namespace {

using namespace graft;
using namespace graft::engine;
using namespace graft::settings;
using namespace graft::study;
using support::Bodies;

class DeviceBuffers : public test::LibraryTest, public ::testing::WithParamInterface<int32_t> {
  protected:
    DeviceBuffers() : n(test::test_size(40000, 700)), exact(n), found(n) {}
    void SetUp() override {
        LibraryTest::SetUp();
        if (IsSkipped())
            return;
        settings.backend = Backend::cuda, settings.precision = Precision::fp64;
        settings.method = Method::direct;
        Solver direct(settings, memory);
        exact.compute(direct);
        settings.method = Method::tree, settings.precision = Precision::fp32;
        settings.leaf = settings.group = 32;
        settings.device.kernel = GetParam();
    }
    double worst(Solver& solver) {
        found.compute(solver);
        return found.errors_against(exact)[static_cast<size_t>(n * 99 / 100)];
    }
    static double figure(const Solver& solver, const char* key) {
        double value = -1;
        return solver.report().find(key, &value) ? value : -1;
    }

    int64_t n;
    core::Memory memory;
    Settings settings;
    Bodies exact, found;
};

TEST_P(DeviceBuffers, GivenOnesFeedAllThereIs) {
    Solver whole(settings, memory);
    const double error = worst(whole);
    EXPECT_EQ(figure(whole, "time_s.feed"), -1);
    for (const int32_t buffer : {100, 4096, 1 << 18}) {
        Settings with = settings;
        with.device.buffer = buffer;
        with.device.list_limit = buffer == 4096 ? 1 << 20 : 0; // in batches
        Solver solver(with, memory);
        EXPECT_LT(worst(solver), 1.1 * error) << buffer;
        EXPECT_EQ(solver.report().pairs, whole.report().pairs) << buffer;
        EXPECT_EQ(solver.report().cells, whole.report().cells) << buffer;
        EXPECT_GT(figure(solver, "time_s.feed"), 0);
        EXPECT_LE(figure(solver, "time_s.feed"), figure(solver, "time_s.forces"));
        EXPECT_EQ(solver.buffers().told().fed.buffer, buffer);
        EXPECT_EQ(solver.buffers().told().by, "given");
        for (int call = 0; call < 2; ++call) // room that was guessed fits after the first
            worst(solver);
        const int64_t allocations = solver.report().device.allocations;
        worst(solver);
        EXPECT_EQ(solver.report().device.allocations, allocations) << "the same again allocates nothing";
        EXPECT_FALSE(solver.report().device.graph);
        solver.change_settings().device.buffer = 0; // back to lists that stay
        EXPECT_LT(worst(solver), 1.1 * error);
        EXPECT_EQ(figure(solver, "time_s.feed"), -1);
    }
}

TEST_P(DeviceBuffers, ForcesStayRightWhileTheyAreChosen) {
    Solver whole(settings, memory);
    const double error = worst(whole);
    settings.device.buffer = feed_auto;
    Solver solver(settings, memory);
    const engine::BufferTuning::Told& told = solver.buffers().told();
    std::set<int64_t> tried, kept;
    for (int call = 0; call < 14; ++call) {
        EXPECT_LT(worst(solver), 1.1 * error) << call << " " << told.by;
        EXPECT_GT(told.predicted.total_s(), 0) << call;
        EXPECT_GT(told.fed.wall_s, 0) << call;
        (call < 10 ? tried : kept).insert(told.fed.buffer);
    }
    EXPECT_GE(tried.size(), 2u);
    EXPECT_EQ(kept.size(), 1u);
    EXPECT_EQ(told.by.substr(0, 3), "by ") << told.by;
    RecordProperty("by", told.by);
}

INSTANTIATE_TEST_SUITE_P(Kernels, DeviceBuffers, ::testing::Values(3, 4)); // pairs-1d, tiles-2d

} // namespace
