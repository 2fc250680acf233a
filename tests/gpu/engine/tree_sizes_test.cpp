// SPDX-License-Identifier: BSD-3-Clause
// tree.sizes on a GPU: forces stay right while leaves, groups and blocks are tried, and what is told is
// there.
#include "bodies.hpp"
#include "library_fixture.hpp"
#include "small.hpp"

#include <set>

namespace {

using namespace graft;
using namespace graft::engine;
using namespace graft::settings;
using support::Bodies;

class DeviceTreeSizes : public test::LibraryTest, public ::testing::WithParamInterface<int32_t> {};

TEST_P(DeviceTreeSizes, ForcesStayRightWhileTheyAreTried) {
    const int64_t n = test::test_size(40000, 700);
    core::Memory memory;
    Bodies exact(n), found(n);
    Settings settings;
    settings.backend = Backend::cuda, settings.method = Method::direct, settings.precision = Precision::fp64;
    Solver direct(settings, memory);
    exact.compute(direct);
    settings.method = Method::tree, settings.precision = Precision::fp32, settings.tuned = false;
    settings.device.kernel = GetParam();
    Solver solver(settings, memory);
    solver.set_tree_sizes(TreeSizesBy::trial, false, false);
    std::set<std::string> tried;
    const TreeTuning::Told& told = solver.tuning().told();
    for (int call = 0; call < 24; ++call) {
        found.compute(solver);
        EXPECT_LT(found.errors_against(exact)[static_cast<size_t>(n * 99 / 100)], 3e-3)
            << call << " " << told.by;
        ASSERT_GT(told.sizes.leaf, 0);
        ASSERT_GT(told.sizes.group, 0);
        EXPECT_EQ(told.sizes.block.x > 0, GetParam() >= 3);
        EXPECT_EQ(told.predicted.total_s() > 0, call > 0) << call;
        tried.insert(std::to_string(told.sizes.leaf) + " " + std::to_string(told.sizes.group) + " " +
                     std::to_string(told.sizes.block.x) + " " + std::to_string(told.sizes.block.y));
    }
    EXPECT_EQ(told.by.find("trial "), std::string::npos) << told.by; // it has ended
    RecordProperty("by", told.by);
    if (told.by.find("nothing else") == std::string::npos) {
        EXPECT_GE(tried.size(), 2u) << told.by;
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, DeviceTreeSizes, ::testing::Values(0, 3, 4)); // auto, pairs-1d, tiles-2d

} // namespace
