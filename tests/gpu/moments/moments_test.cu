// SPDX-License-Identifier: BSD-3-Clause
// Moments and expansions on the device, every number byte for byte as the CPU makes them.
#include "moments/moments_gpu.cuh"

#include "../tree/same_tree.cuh"
#include "../tree/tree_inputs.cuh"
#include "device_fixture.cuh"

#include <cstdlib>
#include <sstream>

namespace {

using namespace graft;
using test::Shape;

class MomentsOnDevice : public test::DeviceTest {
  protected:
    void expect_cpu_moments(const test::Cloud& cloud, const tree::TreeOptions& options, int order,
                            bool softened) {
        SCOPED_TRACE(cloud.name + " n " + std::to_string(cloud.size()) + " order " + std::to_string(order) +
                     " leaf " + std::to_string(options.leaf) + (softened ? " softened" : ""));
        const test::HostTree host(cloud, options, softened);
        core::Memory host_memory;
        moments::Moments expected(host_memory), found(host_memory);
        moments::compute_moments({host_memory, 2}, host.tree, order, expected);
        if (tree == nullptr)
            tree = std::make_unique<tree::DeviceTree>(*memory),
            device = std::make_unique<moments::DeviceMoments>(*memory);
        tree->upload(*queue, host.tree);
        moments::compute_moments(*queue, *tree, order, *device);
        device->download(*queue, host.tree.node_count(), found);
        expect_same_moments(found, expected);
        expect_same_records<float>(host.tree, expected, softened);
        expect_same_records<double>(host.tree, expected, softened);
    }

    static void expect_same_moments(const moments::Moments& found, const moments::Moments& expected) {
        test::expect_same(found.magnitude, expected.magnitude, "magnitude");
        test::expect_same(found.cx, expected.cx, "cx");
        test::expect_same(found.cy, expected.cy, "cy");
        test::expect_same(found.cz, expected.cz, "cz");
        test::expect_same(found.radius, expected.radius, "radius");
        test::expect_same(found.rho, expected.rho, "rho");
        test::expect_same(found.spread, expected.spread, "spread");
        test::expect_same(found.softening, expected.softening, "softening");
        test::expect_same(found.softening_square, expected.softening_square, "softening_square");
        test::expect_same(found.values, expected.values, "values");
    }

    template <typename T>
    void expect_same_records(const tree::Tree& host, const moments::Moments& given, bool softened) {
        core::Memory host_memory;
        core::Buffer<T> expected(host_memory), found(host_memory);
        moments::fill_expansion({host_memory, 1}, given, softened, expected);
        moments::fill_expansion(*queue, *tree, softened, sizeof(T) == 8, *device);
        const T* records;
        if constexpr (sizeof(T) == 8)
            records = device->full.data();
        else
            records = device->single.data();
        const std::vector<T> values = get(records, expected.size());
        found.resize(expected.size());
        std::copy(values.begin(), values.end(), found.data());
        ASSERT_EQ(expected.size(), int64_t{host.node_count()} * moments::record_size(given.order, softened));
        test::expect_same(found, expected, "records");
    }

    void TearDown() override {
        tree.reset(), device.reset();
        DeviceTest::TearDown();
    }

    std::unique_ptr<tree::DeviceTree> tree;
    std::unique_ptr<moments::DeviceMoments> device;
};

TEST_F(MomentsOnDevice, ShapesOrdersAndSizes) {
    graft::test::Cases cases(13);
    for (const Shape shape : {Shape::plummer, Shape::mixed, Shape::neutral, Shape::zeros, Shape::equal,
                              Shape::heaps, Shape::far, Shape::deep, Shape::line})
        for (const int64_t n : {0, 1, 2, 32, 33, 1000, 6007})
            for (int order = 0; order <= moments::cartesian_order; ++order) {
                if (cases.skip())
                    continue;
                expect_cpu_moments(test::make_cloud(shape, n), {}, order, (n + order) % 2 == 0);
                if (HasFatalFailure())
                    return;
            }
}

TEST_F(MomentsOnDevice, LeafSizesAndTreeTypes) {
    graft::test::Cases cases(3);
    for (const int leaf : {1, 3, 100, 1000})
        for (const auto type : {tree::TreeType::octree, tree::TreeType::orb})
            for (const int dimension : {2, 3}) {
                if (cases.skip())
                    continue;
                tree::TreeOptions options;
                options.leaf = leaf;
                options.type = type;
                options.dimension = dimension;
                expect_cpu_moments(test::make_cloud(Shape::clustered, graft::test::test_size(20011, 4003)),
                                   options, 2, leaf == 3);
                if (HasFatalFailure())
                    return;
            }
}

TEST_F(MomentsOnDevice, ManyParticles) {
    expect_cpu_moments(test::make_cloud(Shape::plummer, graft::test::test_size(400009, 10007)), {}, 2, true);
    expect_cpu_moments(test::make_cloud(Shape::mixed, graft::test::test_size(300009, 8009)), {}, 4, false);
}

TEST_F(MomentsOnDevice, Speed) {
    const char* sizes = std::getenv("GRAFT_TEST_SPEED");
    if (sizes == nullptr)
        GTEST_SKIP() << "set GRAFT_TEST_SPEED=n to measure";
    std::istringstream list(sizes);
    for (double n; list >> n;) {
        const test::HostTree host(test::make_cloud(Shape::plummer, static_cast<int64_t>(n)), {}, false);
        tree::DeviceTree uploaded(*memory);
        moments::DeviceMoments made(*memory);
        uploaded.upload(*queue, host.tree);
        for (int order = 0; order <= 4; ++order) {
            float least[2] = {1e30f, 1e30f};
            cudaEvent_t events[3];
            for (cudaEvent_t& event : events)
                GRAFT_CUDA(cudaEventCreate(&event));
            for (int k = 0; k < 9; ++k) {
                GRAFT_CUDA(cudaEventRecord(events[0], queue->stream()));
                moments::compute_moments(*queue, uploaded, order, made);
                GRAFT_CUDA(cudaEventRecord(events[1], queue->stream()));
                moments::fill_expansion(*queue, uploaded, false, false, made);
                GRAFT_CUDA(cudaEventRecord(events[2], queue->stream()));
                queue->wait();
                for (int part = 0; part < 2; ++part) {
                    float time = 0;
                    GRAFT_CUDA(cudaEventElapsedTime(&time, events[part], events[part + 1]));
                    least[part] = std::min(least[part], time);
                }
            }
            std::printf(
                "moments plummer n %.0f leaf 32 order %d: compute %.4f ms, expansions %.4f ms (least of 9)\n",
                n, order, least[0], least[1]);
        }
    }
}

} // namespace
