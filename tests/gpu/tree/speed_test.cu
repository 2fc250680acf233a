// SPDX-License-Identifier: BSD-3-Clause
// Time of a build by events, step by step, beside the sort alone. Skipped unless GRAFT_TEST_SPEED is set to
// the number of particles.
#include "backend/primitives_gpu.cuh"
#include "tree/tree_gpu.cuh"

#include "device_fixture.cuh"
#include "tree_inputs.cuh"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <sstream>

namespace {

using namespace graft;

class TreeSpeed : public test::DeviceTest {
  protected:
    /// Median of 7 after 2 for warming up, in milliseconds.
    double time_ms(const std::function<void()>& work) {
        cudaEvent_t begin, end;
        GRAFT_CUDA(cudaEventCreate(&begin));
        GRAFT_CUDA(cudaEventCreate(&end));
        std::vector<float> times;
        for (int k = 0; k < 9; ++k) {
            GRAFT_CUDA(cudaEventRecord(begin, queue->stream()));
            work();
            GRAFT_CUDA(cudaEventRecord(end, queue->stream()));
            queue->wait();
            float time = 0;
            GRAFT_CUDA(cudaEventElapsedTime(&time, begin, end));
            if (k >= 2)
                times.push_back(time);
        }
        GRAFT_CUDA(cudaEventDestroy(begin));
        GRAFT_CUDA(cudaEventDestroy(end));
        std::sort(times.begin(), times.end());
        return times[times.size() / 2];
    }

    void measure(test::Shape shape, int64_t n, int leaf) {
        const test::Cloud cloud = test::make_cloud(shape, n);
        backend::DeviceBuffer<double> x(*memory, "x"), y(*memory, "y"), z(*memory, "z"), q(*memory, "q");
        put(cloud.x, x), put(cloud.y, y), put(cloud.z, z), put(cloud.charge, q);
        const tree::DeviceParticleView view{n, x.data(), y.data(), z.data(), q.data(), nullptr};
        tree::DeviceTree device(*memory);
        tree::DeviceTreeBuilder builder(*memory);
        tree::TreeOptions options;
        options.leaf = leaf;
        backend::DeviceBuffer<uint64_t> keys(*memory, "keys");
        backend::DeviceBuffer<int32_t> order(*memory, "order");
        keys.resize(n), order.resize(n);
        for (const auto kind :
             {tree::DeviceBuild::fused, tree::DeviceBuild::levels, tree::DeviceBuild::two_phase}) {
            if (n > 10000000 && kind != tree::DeviceBuild::fused)
                continue;
            queue->clear_status();
            builder.build(*queue, options, view, device, kind);
            const backend::DeviceStatus found = status();
            ASSERT_EQ(found.stop, 0u) << "needed " << found.nodes_needed;
            const double build_ms = time_ms([&] { builder.build(*queue, options, view, device, kind); });
            std::printf("%s n %lld leaf %d kind %d: nodes %lld leaves %lld levels %lld, build %.4f ms\n",
                        cloud.name.c_str(), static_cast<long long>(n), leaf, static_cast<int>(kind),
                        static_cast<long long>(found.nodes_needed), static_cast<long long>(found.leaves),
                        static_cast<long long>(found.levels), build_ms);
        }
        // keys in the order of the input, as the builder sorts them: undo the sort
        std::vector<uint64_t> sorted = get(device.keys.data(), n), unsorted(sorted.size());
        const std::vector<int32_t> places = get(device.order.data(), n);
        for (size_t i = 0; i < sorted.size(); ++i)
            unsorted[static_cast<size_t>(places[i])] = sorted[i];
        put(unsorted, keys);
        backend::DeviceBuffer<int32_t> index(*memory, "index");
        put(places, index);
        const double sort_ms = time_ms([&] {
            backend::sort_pairs(*queue, keys.data(), device.keys.data(), index.data(), device.order.data(), n,
                                0, 63);
        });
        std::printf("%s n %lld: sort alone %.4f ms\n", cloud.name.c_str(), static_cast<long long>(n),
                    sort_ms);
    }
};

TEST_F(TreeSpeed, Builds) {
    const char* sizes = std::getenv("GRAFT_TEST_SPEED");
    if (sizes == nullptr)
        GTEST_SKIP() << "set GRAFT_TEST_SPEED=n to measure";
    std::istringstream list(sizes);
    for (double n; list >> n;)
        for (const int leaf : {32, 64}) {
            if (n > 1e7 && leaf == 32)
                continue;
            measure(test::Shape::plummer, static_cast<int64_t>(n), leaf);
            if (n <= 1e6)
                measure(test::Shape::uniform, static_cast<int64_t>(n), leaf);
        }
}

} // namespace
