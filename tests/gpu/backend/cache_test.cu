// SPDX-License-Identifier: BSD-3-Clause
// Memory that the library keeps for the next owner: given out again, bounded, given back when memory is
// short.
#include "backend/block_cache_gpu.cuh"

#include "backend/context_gpu.cuh"
#include "backend/guard_gpu.cuh"
#include "device_fixture.cuh"
#include "driver.hpp"
#include "own_process.hpp"
#include "small.hpp"

#include <string>

namespace {

using graft::backend::DeviceBuffer;
using graft::backend::DeviceCache;
using graft::backend::DeviceMemory;
using graft::backend::KeepsBlocks;
using graft::backend::PinnedBuffer;

class Cache : public graft::test::DeviceTest {
  protected:
    void SetUp() override {
        DeviceTest::SetUp();
        if (!IsSkipped())
            (void)DeviceCache::of(0).clear();
    }
    static int64_t free_bytes() {
        size_t free = 0, total = 0;
        GRAFT_CUDA(cudaMemGetInfo(&free, &total));
        return static_cast<int64_t>(free);
    }
};

/// An owner's keeper whose work has ended: what it releases is given out again at once.
struct Rests : KeepsBlocks {
    explicit Rests(DeviceMemory& owner) : KeepsBlocks(owner) { at_rest(); }
};

__global__ void write_late(int* to, int value, long long cycles) {
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
    *to = value;
}

TEST_F(Cache, BlocksAreUsedAgainAndCounted) {
    DeviceCache& cache = DeviceCache::of(0);
    void *first = nullptr, *pinned = nullptr;
    for (int turn = 0; turn < 3; ++turn) {
        DeviceMemory owner(0);
        const Rests keeps(owner);
        {
            DeviceBuffer<char> a(owner, "a");
            PinnedBuffer<char> b(owner, "b");
            a.resize(100000), b.resize(3000);
            EXPECT_EQ(owner.bytes_held(), cache.footprint(106250, false));
            EXPECT_EQ(owner.bytes_pinned(), cache.footprint(3187, true));
            EXPECT_EQ(owner.allocations(), 2);
            EXPECT_EQ(cache.bytes(false), 0);
            EXPECT_EQ(cache.bytes(true), 0);
            if (turn > 0) {
                EXPECT_EQ(a.data(), first);
                EXPECT_EQ(b.data(), pinned);
            }
            first = a.data(), pinned = b.data();
        }
        EXPECT_EQ(owner.bytes_held(), 0);
        EXPECT_EQ(owner.bytes_pinned(), 0);
        EXPECT_EQ(cache.bytes(false), cache.footprint(106250, false));
        EXPECT_EQ(cache.bytes(true), cache.footprint(3187, true));
    }
    DeviceMemory plain(0); // takes and gives nothing
    DeviceBuffer<char> c(plain, "c");
    c.resize(100000);
    EXPECT_NE(c.data(), first);
    EXPECT_EQ(plain.bytes_held(), 106250);
    EXPECT_EQ(cache.clear(), cache.footprint(106250, false) + cache.footprint(3187, true));
    EXPECT_EQ(cache.clear(), 0);
}

TEST_F(Cache, AnOwnersWorkHasEndedBeforeTheNextHasItsMemory) {
    DeviceCache& cache = DeviceCache::of(0);
    DeviceMemory owner(0), second(0);
    KeepsBlocks keeps(owner);
    const KeepsBlocks keeps_second(second);
    PinnedBuffer<int> place(owner, "place"), other(second, "other"), next(second, "next");
    place.resize(1);
    int* const address = place.data();
    *address = 1;
    write_late<<<1, 1, 0, queue->stream()>>>(address, 2, 100'000'000); // 50 ms
    GRAFT_CUDA_LAUNCHED("write_late");
    place.release();
    other.resize(1);
    EXPECT_NE(other.data(), address);
    EXPECT_EQ(cache.bytes(true), 0);
    queue->wait();
    keeps.at_rest();
    EXPECT_EQ(cache.bytes(true), cache.footprint(1, true));
    next.resize(1);
    ASSERT_EQ(next.data(), address);
    EXPECT_EQ(*next.data(), 2);
}

/// Fills an owner with `count` blocks of so many bytes and more; they are the cache's when it goes.
struct Filled {
    Filled(int count, int64_t bytes) : keeps(owner) {
        for (int k = 0; k < count; ++k) {
            many.emplace_back(owner, "many");
            many.back().resize(bytes);
        }
    }
    DeviceMemory owner{0};
    const Rests keeps;
    std::vector<DeviceBuffer<char>> many;
};

/// An owner that has met an error does not know whether its work has ended: the driver waits for it.
TEST_F(Cache, WhatNobodyWaitedForGoesToTheDriver) {
    const int64_t before = free_bytes();
    {
        DeviceMemory owner(0);
        KeepsBlocks keeps(owner);
        DeviceBuffer<char> a(owner, "a"), b(owner, "b");
        a.resize(40 << 20), b.resize(40 << 20);
        a.release();
        EXPECT_EQ(keeps.clear(), DeviceCache::of(0).footprint((40 << 20) + (40 << 20) / 16, false));
        EXPECT_EQ(keeps.clear(), 0);
    }
    EXPECT_EQ(DeviceCache::of(0).bytes(false), 0);
    if (!graft::test::small_inputs()) // else other processes take memory, too
        EXPECT_GE(free_bytes(), before - (int64_t{32} << 20));
}

TEST_F(Cache, IsBoundedAndGivesBack) {
    DeviceCache& cache = DeviceCache::of(0);
    const int64_t before = free_bytes();
    {
        Filled filled(12, cache.most_bytes(false) * 3 / 16); // 48 MB each, or more where the device has more
        DeviceBuffer<char> large(filled.owner, "large");
        large.resize(cache.most_bytes(false));
        EXPECT_EQ(filled.owner.bytes_held(), filled.owner.bytes_peak());
    }
    EXPECT_GT(cache.bytes(false), cache.most_bytes(false) / 2);
    EXPECT_LE(cache.bytes(false), cache.most_bytes(false));
    const bool alone = !graft::test::small_inputs(); // else other processes take memory, too
    if (alone) {
        EXPECT_GE(free_bytes(), before - cache.most_bytes(false) - (int64_t{32} << 20));
        EXPECT_GE(memory->bytes_free(), before - (int64_t{32} << 20)) << "what is kept counts as free";
    }
    EXPECT_GT(cache.clear(), 0);
    if (alone) {
        EXPECT_GE(free_bytes(), before - (int64_t{32} << 20));
    }
}

/// Whoever asks: also an owner that keeps nothing itself.
TEST_F(Cache, GoesWhenMemoryIsShort) {
    DeviceCache& cache = DeviceCache::of(0);
    (void)Filled(5, int64_t{40} << 20);
    ASSERT_GT(cache.bytes(false), int64_t{128} << 20);
    const int64_t wanted = free_bytes() + (int64_t{64} << 20); // more than there is without what is kept
    void* const all = memory->allocate(wanted, "all");
    EXPECT_EQ(cache.bytes(false), 0);
    try {
        (void)memory->allocate(wanted, "too much");
        ADD_FAILURE() << "expected an Error";
    } catch (const graft::core::Error& error) {
        EXPECT_EQ(error.status(), graft::core::Status::memory);
        EXPECT_NE(std::string(error.what()).find(std::to_string(wanted) + " bytes wanted"), std::string::npos)
            << error.what();
        EXPECT_NE(std::string(error.what()).find(" free"), std::string::npos) << error.what();
    }
    memory->release(all, wanted);
}

/// Large blocks, which others on this device would miss.
TEST_F(Cache, KeepsNoLargeBlockWhereOthersHaveLittleLeft) {
    if (graft::test::small_inputs())
        GTEST_SKIP() << "other processes take memory, too";
    DeviceCache& cache = DeviceCache::of(0);
    DeviceMemory owner(0);
    const Rests keeps(owner);
    const auto kept_of = [&](int64_t bytes) {
        DeviceBuffer<char>(owner, "a").resize(bytes);
        const int64_t kept = cache.bytes(false);
        (void)cache.clear();
        return kept;
    };
    EXPECT_GT(kept_of(48 << 20), 48 << 20);
    const int64_t taken = free_bytes() - graft::backend::total_memory(0) / 4;
    void* const most = memory->allocate(taken, "most");
    EXPECT_EQ(kept_of(48 << 20), 0);
    EXPECT_GT(kept_of(1 << 20), 1 << 20);
    memory->release(most, taken);
}

TEST_F(Cache, ALimitHoldsForBlocksThatWereKept) {
    DeviceMemory owner(0);
    const Rests keeps(owner);
    {
        DeviceBuffer<char> a(owner, "a");
        a.resize(1 << 20);
    }
    owner.set_limit(1 << 20);
    DeviceBuffer<char> a(owner, "a limited buffer");
    EXPECT_THROW(a.resize(1 << 20), graft::core::Error); // a sixteenth more, in a block
    a.resize(1 << 19);
    EXPECT_LE(owner.bytes_held(), 1 << 20);
}

/// Whoever waits for the device, or for a stream in capture, spoils the graph.
TEST_F(Cache, GivesOutAndKeepsWhileSomebodyCaptures) {
    DeviceMemory owner(0);
    const Rests keeps(owner);
    DeviceBuffer<char> a(owner, "a"), b(owner, "b");
    a.resize(1 << 20);
    const char* const address = a.data();
    a.release();
    GRAFT_CUDA(cudaStreamBeginCapture(queue->stream(), cudaStreamCaptureModeGlobal));
    {
        const graft::backend::KeepsDevice as_every_call;
        a.resize(1 << 20), b.resize(1 << 20);
        EXPECT_EQ(a.data(), address);
        b.release();
    }
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(queue->stream(), &graph), cudaSuccess) << "the capture is spoilt";
    GRAFT_CUDA(cudaGraphDestroy(graph));
    const DeviceCache& cache = DeviceCache::of(0);
    EXPECT_EQ(cache.bytes(false), cache.footprint(a.capacity(), false));
}

/// Blocks of the primary context are given back while the thread works in one of the host's own.
TEST_F(Cache, GivesBackWhateverContextIsCurrent) {
    DeviceCache& cache = DeviceCache::of(0);
    {
        DeviceMemory owner(0);
        const Rests keeps(owner);
        DeviceBuffer<char> a(owner, "a");
        a.resize(40 << 20);
    }
    const int64_t kept = cache.bytes(false);
    ASSERT_GT(kept, 40 << 20);
    CUcontext const own = graft::test::own_context(0);
    {
        const graft::backend::InContext here(own);
        EXPECT_EQ(cache.reclaimable(), kept);
        EXPECT_EQ(cache.clear(), kept);
        EXPECT_EQ(cache.reclaimable(), 0);
        EXPECT_EQ(graft::test::current_context(), own);
    }
    graft::test::destroy(own);
}

using CacheDeathTest = Cache;

TEST_F(CacheDeathTest, AResetForgetsWhatIsKeptAndMakesNoContext) {
    const auto keep_one = [] {
        DeviceMemory owner(0);
        const Rests keeps(owner);
        DeviceBuffer<char> a(owner, "a");
        a.resize(40 << 20);
        return a.data();
    };
    graft::test::in_own_process([&] {
        DeviceCache& cache = DeviceCache::of(0);
        (void)keep_one();
        EXPECT_GT(cache.reclaimable(), 40 << 20);
        EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
        EXPECT_EQ(cache.reclaimable(), 0);
        EXPECT_EQ(cache.clear(), 0);
        EXPECT_FALSE(graft::test::primary_is_active(0));
        (void)keep_one();
        EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
        EXPECT_LE(DeviceMemory(0).bytes_free(), free_bytes());
        const char* const first = keep_one();
        EXPECT_EQ(keep_one(), first);
        EXPECT_GT(cache.clear(), 0);
    });
}

} // namespace
