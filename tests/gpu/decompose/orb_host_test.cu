// SPDX-License-Identifier: BSD-3-Clause
// What goes with device ORB: host arrays, measurements, bad values, the steady state.
#include "orb_scene.cuh"
#include "study/bench/bench_table.hpp"

#include <cmath>

namespace graft::test {
namespace {

class OrbHostTest : public OrbTest {};

TEST_F(OrbHostTest, HostArraysThereAndBack) {
    PointSet set = make(plummer, test_size(70001, 2003));
    for (int64_t i = 0; i < set.size(); ++i)
        set.cost.push_back(1 + 0.5 * static_cast<double>(i % 3)), set.id.push_back(3 * i - 1000);
    core::Memory host_memory;
    comm::Communicator comm;
    decompose::Options options;
    options.parts = 77, options.mix = 0.5;
    decompose::Points points;
    points.n = set.size(), points.x = set.x[0].data(), points.y = set.x[1].data(), points.z = set.x[2].data();
    points.cost = set.cost.data(), points.id = set.id.data();
    decompose::Result result(host_memory);
    decompose::Decomposer(host_memory)
        .run(comm, backend::Executor{host_memory, 2}, options, points, true, result);
    std::vector<int32_t> owner(set.x[0].size()), order(owner.size());
    std::vector<int64_t> offset(78);
    std::vector<Cell> cells(154);
    decompose::DeviceOrbCall call{points,        77,           3, 0.5, 0, owner.data(), order.data(),
                                  offset.data(), cells.data(), 0, 0};
    backend::DeviceError error;
    void* engine = nullptr;
    ASSERT_EQ(decompose::device_orb_table().create(0, &engine, &error), 0) << error.message;
    for (int run = 0; run < 2; ++run) {
        ASSERT_EQ(decompose::device_orb_table().solve(engine, &call, &error), 0) << error.message;
        check_cells(result.domains->cells(), cells);
        for (size_t i = 0; i < owner.size(); ++i) {
            ASSERT_EQ(owner[i], result.owner[static_cast<int64_t>(i)]);
            ASSERT_EQ(order[i], result.permutation[static_cast<int64_t>(i)]);
        }
    }
    set.x[1][77] = NAN;
    EXPECT_EQ(decompose::device_orb_table().solve(engine, &call, &error),
              static_cast<int32_t>(core::Status::value));
    decompose::device_orb_table().release(engine);
}

TEST_F(OrbHostTest, MeasurementsVerifyThemselves) {
    Cases cases(3);
    for (int variant = 0; variant < 5; ++variant)
        for (int axis = 0; axis < (variant == 0 ? 1 : 3); ++axis) {
            if (cases.skip())
                continue;
            study::DeviceOrbBench request;
            request.n = test_size(100003, 5003), request.leaves = small_inputs() ? 9 : 37,
            request.repeats = 1;
            request.variant = static_cast<study::OrbVariant>(variant);
            request.axis = static_cast<study::OrbAxis>(axis);
            request.temporaries = axis == 1 ? 1 : 3;
            request.partition = axis == 2 ? study::OrbPartition::cell : study::OrbPartition::level;
            std::vector<char> text(1 << 16);
            backend::DeviceError error;
            ASSERT_EQ(study::device_bench_table().orb(&request, text.data(), 1 << 16, &error), 0)
                << error.message;
            EXPECT_EQ(std::string(text.data()).find("\"verified\":false"), std::string::npos) << text.data();
            if (variant < 4) {
                EXPECT_NE(std::string(text.data()).find("\"verified\":true"), std::string::npos)
                    << text.data();
            }
        }
}

TEST_F(OrbHostTest, BadValueIsNamed) {
    std::vector<float> x(1000, 1.0f), y(1000, 2.0f), z(1000, 3.0f);
    y[321] = NAN, y[700] = INFINITY;
    std::vector<backend::DeviceBuffer<float>> columns;
    for (const auto* column : {&x, &y, &z})
        put(*column, columns.emplace_back(*memory, "x"));
    decompose::DeviceOrb orb(*queue);
    decompose::DeviceOrbPoints points;
    points.n = 1000;
    points.x = columns[0].data(), points.y = columns[1].data(), points.z = columns[2].data();
    queue->clear_status();
    orb.run(points, parts(16));
    EXPECT_EQ(status().stop, backend::bad_value);
    try {
        orb.check();
        FAIL();
    } catch (const core::Error& error) {
        EXPECT_NE(std::string(error.what()).find("y[321]"), std::string::npos) << error.what();
    }
}

TEST_F(OrbHostTest, SecondRunAllocatesNothingAndIsTheSame) {
    const PointSet set = make(uniform, test_size(50021, 2003));
    std::vector<backend::DeviceBuffer<double>> columns;
    for (const auto& column : set.x)
        put(column, columns.emplace_back(*memory, "x"));
    decompose::DeviceOrb orb(*queue);
    decompose::DeviceOrbPoints points;
    points.n = set.size(), points.fp64 = true;
    points.x = columns[0].data(), points.y = columns[1].data(), points.z = columns[2].data();
    orb.run(points, parts(50));
    const auto first = get(orb.index(), set.size());
    const int64_t allocations = memory->allocations(), waits = queue->waits();
    orb.run(points, parts(50));
    EXPECT_EQ(memory->allocations(), allocations);
    EXPECT_EQ(queue->waits(), waits);
    EXPECT_EQ(get(orb.index(), set.size()), first);
}

} // namespace
} // namespace graft::test
