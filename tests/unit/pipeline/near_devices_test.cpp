// A near field on several GPUs of one host, with GPUs that are this host's layouts behind libgraft_cuda's
// table: parts of a structure, arrays to and from them, the same bits for any number of parts.
#include "pipeline/near_devices.hpp"

#include "kernels/near/parts.hpp"
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
        const pipeline::NearSideInput input{memory, structure, shape, scene.request.sums,
                                            scene.request.options};
        const auto side = pipeline::make_near_devices(input, table, first, count, layout, "");
        side->set_points(scene.request.points);
        pipeline::NearSums sums = scene.sums();
        sums.add = add;
        for (int turn = 0; turn < turns; ++turn) {
            const int64_t before = memory.allocations();
            side->begin(sums, nullptr);
            side->end();
            EXPECT_TRUE(turn == 0 || memory.allocations() == before) << "the second execution allocates";
        }
        pipeline::NearReport report;
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
                targets.insert(targets.end(), part.target.begin() + part.own_begin,
                               part.target.begin() + part.own_end);
                const near::Structure view = part.view();
                EXPECT_EQ(view.targets(), static_cast<int64_t>(part.target.size()));
                EXPECT_EQ(view.sources(), static_cast<int64_t>(part.sources().size()));
                EXPECT_EQ(static_cast<double>(near::shape_of(view, scene.request.sums).pairs), part.pairs);
                pairs += part.pairs, most = std::max(most, part.pairs);
            }
            EXPECT_TRUE(
                std::equal(targets.begin(), targets.end(), all.target_index.begin(), all.target_index.end()));
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

TEST_F(NearDevicesTest, ArraysInDeviceMemoryComeThroughTheHost) {
    NearScene scene(800, 0, 3);
    pipeline::NearRequest& request = scene.request;
    for (auto& axis : request.points.target)
        axis.memory = particles::MemorySpace::device; // the fake's is this host's
    run(scene, 2, near::Layout::tiled);
    scene.expect_close("device arrays");
    int stream = 0;
    request.points.stream = &stream;
    try {
        run(scene, 2, near::Layout::tiled);
        ADD_FAILURE() << "a stream was taken";
    } catch (const core::Error& error) {
        EXPECT_EQ(error.status(), Status::unsupported);
    }
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
