// SPDX-License-Identifier: BSD-3-Clause
// The host's CUDA context: none is made where a host has none, the one that is current stays, and one that
// the host has made by the driver's interface is worked in. Other processes do what must begin without a
// context.
#include "device_host.hpp"

#include "driver.hpp"
#include "own_process.hpp"

#include <thread>

using namespace graft::test;

namespace {

class DeviceContext : public DeviceHost {
  protected:
    void SetUp() override {
        testing::FLAGS_gtest_death_test_style = "threadsafe"; // starts anew
        DeviceHost::SetUp();
        xyz = plummer_points(test_size(5000, 800));
    }
    /// With arrays and a stream of the context that is current, several times, as a graph in the end.
    std::vector<double> field_there() {
        create();
        cudaStream_t stream = nullptr;
        EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
        EXPECT_EQ(api->context_set_stream(context, stream), GRAFT_OK);
        std::vector<double> field;
        {
            const OnDevice<double> positions(xyz), out(std::vector<double>(xyz.size(), -1));
            const Call call(positions.view(3), out.view(3));
            for (int k = 0; k < 4; ++k)
                compute(call);
            field = out.get();
        }
        api->context_destroy(&context);
        EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
        return field;
    }
    std::vector<double> xyz;
};

TEST_F(DeviceContext, AThreadWithoutContextHasNoneAfterwards) {
    std::vector<double> found;
    CUcontext before = nullptr, after = nullptr;
    std::thread([&] {
        before = current_context();
        found = field_of(xyz, "gpu");
        after = current_context();
    }).join();
    EXPECT_EQ(before, nullptr);
    EXPECT_EQ(after, nullptr);
    EXPECT_LT(difference(found, field_of(xyz, "cpu")), 2e-2);
}

TEST_F(DeviceContext, TheHostsOwnContextIsWorkedIn) {
    const std::vector<double> expected = field_of(xyz, "gpu");
    api->context_destroy(&context);
    CUcontext const own = own_context(0);
    const std::vector<double> found = field_there();
    EXPECT_EQ(current_context(), own);
    destroy(own);
    EXPECT_EQ(found, expected) << "the same bits in any context";
}

TEST_F(DeviceContext, AGraftContextFollowsItsHost) {
    CUcontext const first = own_context(0), second = own_context(0);
    create();
    std::vector<double> fields[2];
    for (CUcontext const here : {first, second}) {
        ASSERT_EQ(driver_function<CUresult(CUcontext)>("cuCtxSetCurrent")(here), CUDA_SUCCESS);
        const OnDevice<double> positions(xyz), out(std::vector<double>(xyz.size(), -1));
        const Call call(positions.view(3), out.view(3));
        compute(call);
        EXPECT_EQ(current_context(), here);
        fields[here == second] = out.get();
    }
    api->context_destroy(&context);
    EXPECT_EQ(fields[0], fields[1]);
    destroy(second);
    destroy(first);
}

using DeviceContextDeathTest = DeviceContext;

TEST_F(DeviceContextDeathTest, NoPrimaryContextBesideTheHostsOwn) {
    in_own_process([&] {
        own_context(0);
        field_there();
        EXPECT_FALSE(primary_is_active(0));
    });
}

TEST_F(DeviceContextDeathTest, NoContextOnGpuZeroForARankOfAnother) {
    int devices = 0;
    ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
    if (devices < 2)
        GTEST_SKIP() << "one device only";
    in_own_process([&] {
        set("gpu.device", "1");
        field_of(xyz, "gpu");
        EXPECT_FALSE(primary_is_active(0));
        EXPECT_TRUE(primary_is_active(1));
    });
}

} // namespace
