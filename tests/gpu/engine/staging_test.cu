// SPDX-License-Identifier: BSD-3-Clause
// Arrays of the host on their way to the device: every byte arrives, also where slots are used again; and the
// host packs a chunk while those before it travel.
#include "core/timer.hpp"
#include "particles/staging_gpu.cuh"

#include "device_fixture.cuh"

#include <algorithm>
#include <cstdio>

namespace graft::test {
namespace {

using particles::ArrayView;
using particles::DeviceStaging;

class Staging : public DeviceTest {
  protected:
    /// x y z, x y z ... of a host.
    std::vector<double> triples(int64_t n) {
        std::vector<double> values(static_cast<size_t>(3 * n));
        for (size_t k = 0; k < values.size(); ++k)
            values[k] = 0.5 * static_cast<double>(k);
        return values;
    }
    /// Sends all, and gathers the chunks as columns in `to`, where there is one; waits after each chunk, so
    /// that nothing overlaps, or at the end only.
    void send(DeviceStaging& staging, std::vector<double>& from, int64_t chunk, bool wait_for_each,
              double* to = nullptr) {
        const int64_t n = static_cast<int64_t>(from.size()) / 3;
        ArrayView views[3], there[3];
        for (int axis = 0; axis < 3; ++axis) {
            views[axis].data = reinterpret_cast<char*>(from.data() + axis);
            views[axis].n = n, views[axis].item_stride = 24;
        }
        staging.restart();
        for (int64_t first = 0; first < n; first += chunk) {
            const int64_t count = std::min(chunk, n - first);
            staging.send(*queue, executor, 3, views, first, count, there);
            for (int axis = 0; to != nullptr && axis < 3; ++axis)
                GRAFT_CUDA(cudaMemcpyAsync(to + axis * n + first, there[axis].data,
                                           static_cast<size_t>(8 * count), cudaMemcpyDeviceToDevice,
                                           queue->stream()));
            if (wait_for_each)
                queue->wait();
        }
        queue->wait();
    }

    core::Memory host_memory;
    backend::Executor executor{host_memory, backend::resolve_threads(0)};
};

TEST_F(Staging, SlotsAreUsedAgainAndEveryByteArrives) {
    constexpr int64_t chunk = 700, n = 3 * DeviceStaging::most_slots * chunk + 123;
    std::vector<double> from = triples(n);
    backend::DeviceBuffer<double> columns(*memory, "columns");
    columns.resize(3 * n);
    DeviceStaging staging(*memory);
    for (int run = 0; run < 3; ++run) {
        GRAFT_CUDA(cudaMemsetAsync(columns.data(), 0xff, static_cast<size_t>(24 * n), queue->stream()));
        send(staging, from, chunk, false, columns.data());
        const std::vector<double> found = get(columns.data(), 3 * n);
        for (int64_t i = 0; i < n; ++i)
            for (int axis = 0; axis < 3; ++axis)
                ASSERT_EQ(found[static_cast<size_t>(axis * n + i)], from[static_cast<size_t>(3 * i + axis)])
                    << "particle " << i << ", run " << run;
        for (double& value : from) // slots hold what the last run sent
            value += 1;
    }
}

/// `Times` in its name: it measures, and stays out of the sanitizers.
using StagingTimes = Staging;
TEST_F(StagingTimes, ChunksArePackedWhileOthersTravel) {
    std::vector<double> from = triples(40 * DeviceStaging::chunk_items);
    DeviceStaging staging(*memory);
    double together_s = 1e30, apart_s = 1e30;
    for (int round = 0; round < 6; ++round)
        for (const bool apart : {false, true}) {
            const core::Timer timer;
            send(staging, from, DeviceStaging::chunk_items, apart);
            double& least = apart ? apart_s : together_s;
            least = round > 0 ? std::min(least, timer.seconds()) : least; // the first one allocates
        }
    std::printf("%.0f MB: %.2f ms, %.2f ms with a wait after each chunk (%.1f and %.1f GB/s)\n",
                8e-6 * static_cast<double>(from.size()), 1e3 * together_s, 1e3 * apart_s,
                8e-9 * static_cast<double>(from.size()) / together_s,
                8e-9 * static_cast<double>(from.size()) / apart_s);
    EXPECT_LT(together_s, 0.9 * apart_s);
}

} // namespace
} // namespace graft::test
