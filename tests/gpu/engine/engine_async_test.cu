// SPDX-License-Identifier: BSD-3-Clause
// What a host needs that does not wait for the engine: a poll, an event, results that are never repeated, its own
// memory, and that memory back.
#include "engine_scene.cuh"

#include <map>

namespace {

using namespace graft::test;
using graft::backend::DeviceError;
using graft::backend::GpuAllocator;

/// A pool that counts.
struct CountingPool {
    std::map<void*, int64_t> held;
    int64_t most = 0, bytes = 0;
    GpuAllocator allocator() { return {this, take, give}; }
    static void* take(void* user, int64_t bytes, int32_t, void*) {
        CountingPool& pool = *static_cast<CountingPool*>(user);
        void* pointer = nullptr;
        if (cudaMalloc(&pointer, static_cast<size_t>(bytes)) != cudaSuccess)
            return nullptr;
        pool.held[pointer] = bytes;
        pool.most = std::max(pool.most, pool.bytes += bytes);
        return pointer;
    }
    static void give(void* user, void* pointer, int64_t bytes, int32_t, void*) {
        CountingPool& pool = *static_cast<CountingPool*>(user);
        EXPECT_EQ(pool.held[pointer], bytes);
        pool.held.erase(pointer);
        pool.bytes -= bytes;
        EXPECT_EQ(cudaFree(pointer), cudaSuccess);
    }
};

class EngineAsync : public OnDevice {
  protected:
    void SetUp() override {
        OnDevice::SetUp();
        if (IsSkipped())
            return;
        const graft::settings::DeviceOptions options;
        DeviceError error;
        graft::backend::raise(table_.create(&options, &engine_, &error), error);
    }
    void TearDown() override {
        if (engine_ != nullptr)
            table_.destroy(engine_);
    }

    void begin(const Settings& settings, const Call& call) {
        DeviceError error;
        graft::backend::raise(
            table_.begin(engine_, &settings, &call.input, nullptr, &call.outputs, nullptr, &error), error);
    }
    bool again() {
        DeviceReport report;
        DeviceError error;
        int32_t again = -1;
        graft::backend::raise(table_.end_once(engine_, &report, &again, &error), error);
        return again != 0;
    }
    DeviceReport end() {
        DeviceReport report;
        DeviceError error;
        graft::backend::raise(table_.end(engine_, &report, &error), error);
        return report;
    }

    const graft::engine::DeviceForceTable& table_ = *graft::engine::device_force_table();
    void* engine_ = nullptr;
    const Wish wish_{};
    CountingPool pool_;
};

TEST_F(EngineAsync, PollAndEvent) {
    DeviceError error;
    int32_t ended = -1;
    void* event = nullptr;
    const auto call_order = static_cast<int32_t>(Status::call_order);
    EXPECT_EQ(table_.poll(engine_, &ended, &error), call_order);
    EXPECT_EQ(table_.event(engine_, &event, &error), call_order);
    Call call(make_cloud(20000), wish_, Layout::soa64, MemorySpace::device);
    begin({}, call);
    ASSERT_EQ(table_.event(engine_, &event, &error), 0) << error.message;
    ASSERT_EQ(cudaEventSynchronize(static_cast<cudaEvent_t>(event)), cudaSuccess);
    ASSERT_EQ(table_.poll(engine_, &ended, &error), 0) << error.message;
    EXPECT_EQ(ended, 1);
    (void)end();
    EXPECT_EQ(table_.poll(engine_, &ended, &error), call_order);
}

/// The first call lacks room that none can know of: nothing is written, and the same call fits. Its bits are
/// those of a call that repeats.
TEST_F(EngineAsync, AgainWritesNothing) {
    const Cloud cloud = make_cloud(20000, 31);
    for (MemorySpace space : {MemorySpace::device, MemorySpace::host})
        for (MacType mac : {MacType::edge, MacType::error}) {
            DeviceError error;
            ASSERT_EQ(table_.give_back(engine_, &error), 0) << error.message;
            Settings s;
            s.mac = mac, s.accuracy = 1e-5, s.theta = 0.2; // lists longer than guessed
            Engine repeating;
            const Answer expected = repeating.run(s, cloud, wish_, Layout::soa64, space);
            ASSERT_GT(repeating.report.repeats, 0) << "no room was too small";
            Call call(cloud, wish_, Layout::soa64, space);
            const Answer before = call.answer();
            begin(s, call);
            ASSERT_TRUE(again());
            EXPECT_EQ(call.answer().ax, before.ax);
            EXPECT_EQ(call.answer().virial, before.virial);
            begin(s, call);
            ASSERT_FALSE(again());
            EXPECT_EQ(call.answer().ax, expected.ax);
            EXPECT_EQ(call.answer().potential, expected.potential);
            EXPECT_EQ(call.answer().virial, expected.virial);
        }
}

TEST_F(EngineAsync, TreesOfTheHostAreRefused) {
    const Cloud cloud = make_cloud(3000, 32);
    Settings s;
    s.tree_type = graft::tree::TreeType::orb;
    Call call(cloud, wish_, Layout::soa64, MemorySpace::device);
    const Answer before = call.answer();
    begin(s, call);
    DeviceReport report;
    DeviceError error;
    int32_t again = -1;
    EXPECT_EQ(table_.end_once(engine_, &report, &again, &error), static_cast<int32_t>(Status::unsupported));
    EXPECT_EQ(call.answer().ax, before.ax);
    begin(s, call);
    EXPECT_GT(end().tree.nodes, 0);
}

TEST_F(EngineAsync, MemoryOfTheHost) {
    const Cloud cloud = make_cloud(20000, 33);
    Engine other;
    const Answer expected = other.run({}, cloud, wish_, Layout::soa64, MemorySpace::device);
    const GpuAllocator allocator = pool_.allocator();
    DeviceError error;
    ASSERT_EQ(table_.set_allocator(engine_, &allocator, &error), 0) << error.message;
    Call call(cloud, wish_, Layout::soa64, MemorySpace::device);
    begin({}, call);
    EXPECT_EQ(table_.set_allocator(engine_, nullptr, &error), static_cast<int32_t>(Status::call_order));
    EXPECT_EQ(table_.give_back(engine_, &error), static_cast<int32_t>(Status::call_order));
    const DeviceReport report = end();
    EXPECT_EQ(call.answer().ax, expected.ax);
    EXPECT_EQ(pool_.bytes, report.bytes_device) << "memory that is not of the pool";
    const int64_t blocks = static_cast<int64_t>(pool_.held.size());
    begin({}, call);
    EXPECT_EQ(end().allocations, report.allocations) << "a second call of the same size allocates nothing";
    EXPECT_EQ(static_cast<int64_t>(pool_.held.size()), blocks);
    ASSERT_EQ(table_.give_back(engine_, &error), 0) << error.message;
    EXPECT_TRUE(pool_.held.empty());
    begin({}, call);
    (void)end();
    EXPECT_EQ(call.answer().ax, expected.ax);
    EXPECT_GT(pool_.bytes, 0);
    ASSERT_EQ(table_.set_allocator(engine_, nullptr, &error), 0) << error.message;
    EXPECT_TRUE(pool_.held.empty());
}

} // namespace
