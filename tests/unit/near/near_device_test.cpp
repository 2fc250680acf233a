// SPDX-License-Identifier: BSD-3-Clause
// A near field on one GPU: the choice of its layout by a trial and by what executions took, and another
// layout's plan made beside the old one. The GPU is this host's layouts behind libgraft_cuda's table.
#include "near_fake_device.hpp"
#include "near/plan/gpu_plans.hpp"

#include <gtest/gtest.h>

using namespace graft;
using namespace graft::test;
using near::Layout;

namespace {

/// Seconds of making a plan and of an execution, whatever the structure.
void put(model::Machine& machine, Layout layout, double collection_s, double kernel_s, double error) {
    model::NearLayoutCosts& costs = machine.near.layouts[static_cast<size_t>(layout)];
    costs.backend = 1, costs.layout = static_cast<double>(layout), costs.number_bytes = 8;
    costs.error = error;
    costs.collection.call_s = collection_s, costs.kernel.call_s = kernel_s, costs.scatter.call_s = 1e-9;
}

/// What events say of charges, beside what FakeDevice tells.
std::map<Layout, double> charges_s;

int32_t end_with_charges(void* plan, near::DeviceNearReport* report, backend::DeviceError* error) {
    const int32_t status = fake_end(plan, report, error);
    if (report != nullptr)
        report->times.charges_s = charges_s[static_cast<FakePlan*>(plan)->name];
    return status;
}

class NearDeviceTest : public testing::Test {
  protected:
    NearDeviceTest() {
        FakeDevice::the() = {};
        charges_s.clear();
        table.end = end_with_charges;
        for (int k = 0; k < near::layouts; ++k)
            put(machine, static_cast<Layout>(k), 1, 1, 0.3); // far from the best
        machine.link.bandwidth_bytes_per_s = 1e18;
        put(machine, Layout::ranges, 1e-3, 1.0e-3, 0.3);
        put(machine, Layout::tiled, 1e-3, 1.1e-3, 0.3);
        put(machine, Layout::replicated_group, 1e-3, 1.2e-3, 0.3);
        scene.request.options.machine = std::shared_ptr<const model::Machine>(&machine, [](auto*) {});
    }
    std::unique_ptr<near::PlanBackend> make(double executes) {
        scene.request.options.executes = executes;
        structure = spans_of(scene);
        shape = near::shape_of(structure, scene.request.sums);
        const near::PlanBackendInput input{memory, structure, shape, scene.request.sums,
                                           scene.request.options};
        auto side = near::make_near_one_device(input, table, 0, scene.request.points);
        side->set_points(scene.request.points);
        return side;
    }
    void execute(near::PlanBackend& side, int turns = 1) {
        for (int turn = 0; turn < turns; ++turn) {
            side.begin(scene.sums(), nullptr);
            side.end();
        }
        scene.expect_close("sums");
    }
    static near::NearReport report_of(const near::PlanBackend& side) {
        near::NearReport report;
        side.report(report);
        return report;
    }
    /// Tried: tiled is in use, and has become slow.
    std::unique_ptr<near::PlanBackend> slow() {
        device.kernel_s = {{Layout::ranges, 1e-3}, {Layout::tiled, 8e-4}, {Layout::replicated_group, 2e-3}};
        auto side = make(1e5);
        EXPECT_EQ(report_of(*side).layout, Layout::tiled);
        device.kernel_s[Layout::tiled] = 1e-2;
        execute(*side, 4);
        return side;
    }

    near::DeviceNearTable table = fake_near_table;
    NearScene scene{1500, 0, 3};
    core::Memory memory;
    model::Machine machine;
    near::Structure structure;
    near::Shape shape;
    FakeDevice& device = FakeDevice::the();
};

} // namespace

/// Lists are looked at once, where it is tiled that is wanted, and the plan is told.
TEST_F(NearDeviceTest, APlanIsToldWhetherPairsAreSummedOnce) {
    constexpr int32_t boxes = 4096, points = 32;
    std::vector<int64_t> offset(boxes + 1), neighbour_offset(boxes + 1, 0);
    std::vector<int32_t> neighbour; // in a row
    for (int32_t b = 0; b < boxes; ++b) {
        offset[static_cast<size_t>(b) + 1] = int64_t{points} * (b + 1);
        for (int32_t other = std::max(0, b - 1); other < std::min(boxes, b + 2); ++other)
            neighbour.push_back(other);
        neighbour_offset[static_cast<size_t>(b) + 1] = static_cast<int64_t>(neighbour.size());
    }
    near::Sums sums;
    sums.precision = near::Precision::fp32;
    const auto told = [&](Layout layout) {
        structure = {};
        structure.target_offset = structure.source_offset = offset, structure.same = true;
        structure.neighbour_offset = neighbour_offset, structure.neighbour = neighbour;
        shape = near::shape_of(structure, sums);
        scene.request.options.layout = static_cast<int32_t>(layout);
        const near::PlanBackendInput input{memory, structure, shape, sums, scene.request.options};
        (void)near::make_near_one_device(input, table, 0, scene.request.points);
        return device.pairs_once.back();
    };
    EXPECT_EQ(told(Layout::tiled), 1);
    EXPECT_EQ(told(Layout::ranges), 0) << "nobody asked";
    neighbour.erase(neighbour.begin() + 4); // box 1 no longer names box 2, which names it
    for (size_t b = 2; b < neighbour_offset.size(); ++b)
        --neighbour_offset[b];
    EXPECT_EQ(told(Layout::tiled), -1);
    sums.precision = near::Precision::fp64;
    EXPECT_EQ(told(Layout::tiled), 0) << "its kind says no already";
}

TEST_F(NearDeviceTest, AShortJobIsNotTried) {
    const auto side = make(1);
    EXPECT_EQ(device.made, std::vector<Layout>{Layout::ranges});
    EXPECT_EQ(report_of(*side).reason, "predicted to be fastest");
    execute(*side);
}

TEST_F(NearDeviceTest, TheFastestOfATrialStaysAndTheOthersGo) {
    device.kernel_s = {{Layout::ranges, 1e-3}, {Layout::tiled, 8e-4}, {Layout::replicated_group, 2e-3}};
    {
        const auto side = make(1e5);
        EXPECT_EQ(device.made,
                  (std::vector<Layout>{Layout::ranges, Layout::tiled, Layout::replicated_group}));
        EXPECT_EQ(report_of(*side).layout, Layout::tiled);
        EXPECT_EQ(report_of(*side).reason, "fastest in a short trial");
        EXPECT_EQ(device.alive, 1);
        execute(*side);
    }
    EXPECT_EQ(device.alive, 0);
}

/// Records' charges are written before every kernel: a layout whose kernel is the fastest may lose by them.
TEST_F(NearDeviceTest, ATrialCountsWhatChargesTake) {
    device.kernel_s = {{Layout::ranges, 1e-3}, {Layout::tiled, 8e-4}, {Layout::replicated_group, 7e-4}};
    charges_s = {{Layout::replicated_group, 2e-4}};
    EXPECT_EQ(report_of(*make(1e5)).layout, Layout::tiled);
    charges_s = {{Layout::tiled, 2e-4}};
    EXPECT_EQ(report_of(*make(1e5)).layout, Layout::replicated_group);
}

TEST_F(NearDeviceTest, ADifferenceWithinTheNoiseLeavesThePredictedBest) {
    device.kernel_s = {{Layout::ranges, 1e-3}, {Layout::tiled, 9.9e-4}, {Layout::replicated_group, 2e-3}};
    EXPECT_EQ(report_of(*make(1e5)).layout, Layout::ranges);
}

TEST_F(NearDeviceTest, ContendersWithoutRoomAreLeftOut) {
    device.kernel_s = {{Layout::ranges, 1e-3}, {Layout::tiled, 8e-4}, {Layout::replicated_group, 9e-4}};
    device.too_large = {Layout::tiled};
    EXPECT_EQ(report_of(*make(1e5)).layout, Layout::replicated_group);
    device.too_large.clear();
    device.too_large_for_points = {Layout::tiled};
    EXPECT_EQ(report_of(*make(1e5)).layout, Layout::replicated_group);
    EXPECT_EQ(device.alive, 0);
}

TEST_F(NearDeviceTest, ExecutionsSpeakForAnotherLayoutWhenPointsChange) {
    const auto side = slow();
    EXPECT_EQ(report_of(*side).layout, Layout::tiled) << "before the points changed";
    scene.shake(1e-3);
    side->set_points(scene.request.points);
    EXPECT_EQ(report_of(*side).layout, Layout::ranges);
    EXPECT_EQ(report_of(*side).reason, "learned from the executions so far");
    EXPECT_EQ(device.alive, 1);
    execute(*side);
}

TEST_F(NearDeviceTest, WithoutRoomForAnotherLayoutTheOldOneStaysAndIsNotAskedAgain) {
    for (std::set<Layout> FakeDevice::*refused :
         {&FakeDevice::too_large, &FakeDevice::too_large_for_points}) {
        device = {};
        const auto side = slow();
        device.*refused = {Layout::ranges};
        scene.shake(1e-3);
        side->set_points(scene.request.points);
        EXPECT_EQ(report_of(*side).layout, Layout::tiled);
        EXPECT_EQ(device.alive, 1);
        execute(*side);
        const size_t made = device.made.size();
        side->set_points(scene.request.points);
        execute(*side);
        EXPECT_EQ(device.made.size(), made);
    }
}
