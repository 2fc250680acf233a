// SPDX-License-Identifier: BSD-3-Clause
// A near field on several GPUs of one host, with GPUs that are this host's layouts behind libgraft_cuda's
// table: parts of a structure, arrays to and from them, the same bits for any number of parts.
#include "near/plan/gpu_plans.hpp"

#include "near/structure_parts.hpp"
#include "near_fake_device.hpp"

#include <gtest/gtest.h>

#include <cstring>

using namespace graft;
using namespace graft::test;
using core::Status;
using particles::ArrayView;

namespace {

int32_t gpus = 4;

int32_t device_count(int32_t* count, backend::DeviceError*) {
    *count = gpus;
    return 0;
}
int32_t copy(void* to, const void* from, int64_t bytes, backend::DeviceError*) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return 0;
}

class NearDevicesTest : public testing::Test {
  protected:
    NearDevicesTest() {
        table.device_count = device_count, table.copy = copy, table.near = &fake_near_table;
        gpus = 4, FakeDevice::the() = {};
    }
    /// Sums on `count` GPUs, the first of which is `first`.
    void run(NearScene& scene, int32_t count, near::Layout layout, int32_t first = 0, int turns = 1,
             bool add = false) {
        const near::Structure structure = spans_of(scene);
        const near::Shape shape = near::shape_of(structure, scene.request.sums);
        const near::PlanBackendInput input{memory, structure, shape, scene.request.sums,
                                           scene.request.options};
        const auto side = near::make_near_devices(input, table, first, count, layout, near::ChosenBy::caller);
        side->set_points(scene.request.points);
        near::NearSums sums = scene.sums();
        set_add(sums, add);
        for (int turn = 0; turn < turns; ++turn) {
            const int64_t before = memory.allocations();
            side->begin(sums, nullptr);
            side->end();
            EXPECT_TRUE(turn == 0 || memory.allocations() == before) << "the second execution allocates";
        }
        near::NearReport report;
        side->report(report);
        EXPECT_EQ(report.device_name, std::to_string(count) + " x this host");
    }

    core::Memory memory;
    backend::CudaTable table{};
};

} // namespace

TEST_F(NearDevicesTest, PartsAreAllTargetsOnceWithAsManyPairs) {
    for (const bool same : {true, false}) {
        NearScene scene(4000, same ? 0 : 3000, 3);
        const near::Structure all = spans_of(scene);
        const near::Shape shape = near::shape_of(all, scene.request.sums);
        for (const int32_t count : {1, 2, 3, 7, 100}) {
            const auto parts = near::cut_structure(all, count);
            ASSERT_EQ(parts.size(), static_cast<size_t>(count));
            std::vector<int64_t> targets;
            double pairs = 0, most = 0;
            for (const near::StructurePart& part : parts) {
                const auto own_end = part.target.begin() + part.own;
                targets.insert(targets.end(), part.target.begin(), own_end);
                EXPECT_TRUE(std::is_sorted(part.target.begin(), own_end));
                EXPECT_TRUE(std::is_sorted(own_end, part.target.end()));
                const near::Structure view = part.view();
                EXPECT_EQ(view.targets(), static_cast<int64_t>(part.target.size()));
                EXPECT_EQ(view.sources(), static_cast<int64_t>(part.sources().size()));
                EXPECT_TRUE(std::is_sorted(part.source.begin(), part.source.end()));
                EXPECT_EQ(static_cast<double>(near::shape_of(view, scene.request.sums).pairs), part.pairs);
                pairs += part.pairs, most = std::max(most, part.pairs);
            }
            std::sort(targets.begin(), targets.end());
            std::vector<int64_t> right(all.target_index.begin(), all.target_index.end());
            std::sort(right.begin(), right.end());
            EXPECT_EQ(targets, right);
            EXPECT_EQ(pairs, static_cast<double>(shape.pairs));
            if (count <= 7) { // 64 boxes
                EXPECT_LT(most, pairs / count + 0.04 * pairs);
            }
        }
    }
}

TEST_F(NearDevicesTest, EveryPartsSumsHaveTheBitsOfTheWhole) {
    for (const near::Layout layout : {near::Layout::ranges, near::Layout::tiled, near::Layout::indexed})
        for (const int dimension : {2, 3})
            for (const bool same : {true, false}) {
                NearScene scene(1500, same ? 0 : 1300, dimension, 2);
                scene.request.sums.outputs = 3;
                scene.request.sums.kernel.kernel =
                    dimension == 2 ? near::Kernel::logarithm : near::Kernel::laplace;
                run(scene, 1, layout);
                scene.expect_close("one GPU");
                const auto potential = scene.potential;
                const auto gradient = scene.gradient;
                for (const int32_t count : {2, 3, 4}) {
                    scene.fill_outputs(0);
                    run(scene, count, layout, 0, 2);
                    EXPECT_EQ(scene.potential, potential) << count;
                    EXPECT_EQ(scene.gradient, gradient) << count;
                }
            }
}

TEST_F(NearDevicesTest, PointsOutsideOfBoxesStayAndSumsAreAdded) {
    NearScene scene(900, 0, 3);
    const int64_t out = scene.leave_out(100);
    scene.fill_outputs(7);
    run(scene, 3, near::Layout::ranges, 2, 1, true);
    EXPECT_EQ(scene.outputs_equal_to(7), out);
    scene.expect_close("added", 7);
    EXPECT_EQ(FakeDevice::the().used, (std::set<int32_t>{0, 2, 3}));
}

/// All parts work in the units that all points ask for.
TEST_F(NearDevicesTest, PartsAreToldTheExtentOfAll) {
    NearScene scene(800, 500, 3);
    run(scene, 3, near::Layout::ranges);
    scene.expect_close("three parts");
    double extent = 0;
    for (size_t axis = 0; axis < 3; ++axis) {
        double least = 1, most = 0;
        for (const auto& set : scene.coordinate)
            for (const double x : set[axis])
                least = std::min(least, x), most = std::max(most, x);
        extent = std::max(extent, most - least);
    }
    EXPECT_EQ(FakeDevice::the().extents, (std::set<double>{extent}));
}

/// More GPUs are taken only where kernels are most of an execution.
TEST_F(NearDevicesTest, AsManyAsExecuteFastest) {
    near::Shape shape;
    shape.targets = shape.sources = 2000000;
    shape.precision = near::Precision::fp32, shape.outputs = 3;
    near::NearPrediction one;
    model::Link link;
    link.gpu_gpu_bandwidth_bytes_per_s = 2e11; // 40 MB: 0.1 ms for the half of them
    using near::NearArrays;
    const auto best = [&](double kernel_s, double host_s, NearArrays arrays) {
        one.kernel_s = kernel_s, one.transfer_s = host_s;
        return near::best_device_count(one, shape, link, arrays, 4);
    };
    EXPECT_EQ(best(1e-5, 0, NearArrays::host_in_order), 1);
    EXPECT_EQ(best(8e-4, 1.5e-2, NearArrays::host_in_order), 1) << "less is saved than the model's error";
    EXPECT_EQ(best(2.2e-3, 3e-3, NearArrays::host_at_random), 1) << "8 ms instead of 5 were measured";
    EXPECT_EQ(best(4.4e-3, 3e-3, NearArrays::host_in_order), 4);
    EXPECT_EQ(best(2e-2, 3e-3, NearArrays::host_at_random), 4);
    EXPECT_EQ(best(2.5e-4, 0, NearArrays::device), 1) << "arrays travel to the other and back";
    EXPECT_EQ(best(5e-4, 0, NearArrays::device), 2);
    EXPECT_EQ(best(1e-2, 0, NearArrays::device), 4);
    EXPECT_EQ(near::best_device_count(one, shape, link, NearArrays::device, 1), 1);
}

TEST_F(NearDevicesTest, TooFewGpusAreNamed) {
    NearScene scene(100, 0, 3);
    gpus = 1;
    try {
        run(scene, 2, near::Layout::tiled);
        ADD_FAILURE() << "two of one GPU";
    } catch (const core::Error& error) {
        EXPECT_EQ(error.status(), Status::device);
        EXPECT_NE(std::string(error.what()).find("this host has 1"), std::string::npos) << error.what();
    }
}

/// The second of three finds no room.
TEST_F(NearDevicesTest, PlansOfTheOtherPartsGoWhereOneCannotBeMade) {
    NearScene scene(300, 0, 3);
    FakeDevice::the().too_large = {near::Layout::tiled};
    EXPECT_THROW(run(scene, 3, near::Layout::tiled), core::Error);
    EXPECT_EQ(FakeDevice::the().most_alive, 1);
    EXPECT_EQ(FakeDevice::the().alive, 0);
    FakeDevice::the().too_large.clear();
    run(scene, 3, near::Layout::tiled);
    scene.expect_close("afterwards");
}

/// No GPU may take another's stream for them.
TEST_F(NearDevicesTest, ManagedArraysAreReadByTheHostWhenTheStreamIsDone) {
    NearScene scene(300, 0, 3);
    for (ArrayView& axis : scene.request.points.target)
        axis.memory = particles::MemorySpace::managed;
    int stream = 0;
    scene.request.points.stream = &stream;
    run(scene, 2, near::Layout::tiled);
    EXPECT_EQ(FakeDevice::the().waited, std::vector<const void*>(3, &stream));
    scene.expect_close("of managed coordinates");
}

TEST_F(NearDevicesTest, AChargeThatIsNoNumberIsNamedByTheCallersIndex) {
    NearScene scene(400, 0, 3);
    scene.charge[0][123] = std::numeric_limits<double>::quiet_NaN();
    try {
        run(scene, 2, near::Layout::tiled);
        ADD_FAILURE() << "NaN was taken";
    } catch (const core::Error& error) {
        EXPECT_EQ(error.status(), Status::value);
        EXPECT_NE(std::string(error.what()).find("123"), std::string::npos) << error.what();
    }
}
