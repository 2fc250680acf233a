// SPDX-License-Identifier: BSD-3-Clause
// Order between a queue's stream and one beside it, which one event makes for all of their meetings.
#include "backend/side_stream_gpu.cuh"

#include "device_fixture.cuh"

namespace {

using graft::backend::OnSide;
using graft::backend::SideStream;

class SideStreams : public graft::test::DeviceTest {};

/// *to = *from + add: read early, written late.
__global__ void add_late(const volatile int* from, int add, int* to, long long cycles) {
    const int read = *from;
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
    *to = read + add;
}

TEST_F(SideStreams, FollowAndJoin) {
    graft::backend::DeviceBuffer<int> numbers(*memory, "numbers");
    put(std::vector<int>{0, -1, -1, -1}, numbers);
    int* const n = numbers.data();
    SideStream side(*memory);
    const cudaStream_t main = queue->stream();
    for (int turn = 0; turn < 5; ++turn) {
        constexpr long long cycles = 2'000'000; // a millisecond
        add_late<<<1, 1, 0, main>>>(n, 1, n + 1, cycles);
        GRAFT_CUDA_LAUNCHED("add_late");
        side.follow(main);
        {
            const OnSide there(*queue, side);
            EXPECT_EQ(queue->stream(), side);
            add_late<<<1, 1, 0, queue->stream()>>>(n + 1, 10, n + 2, cycles);
            GRAFT_CUDA_LAUNCHED("add_late");
        }
        EXPECT_EQ(queue->stream(), main);
        side.join(main);
        add_late<<<1, 1, 0, main>>>(n + 2, 100, n, cycles);
        GRAFT_CUDA_LAUNCHED("add_late");
        EXPECT_EQ(get(n, 1)[0], 111 * (turn + 1));
    }
}

} // namespace
