// The host's CUDA context: none is made where a host has none, the one that is current stays, and one that
// the host has made by the driver's interface is worked in. Other processes do what must begin without a
// context.
#include "device_host.hpp"

#include <cuda.h>

#include <dlfcn.h>

#include <thread>

using namespace graft::test;

namespace {

/// The driver's functions, looked up: the program starts where there is no driver, too.
struct Driver {
    template <typename Function>
    static Function* find(const char* name) {
        static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
        return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
    }
    static CUcontext current() {
        CUcontext context = nullptr;
        (void)find<CUresult(CUcontext*)>("cuCtxGetCurrent")(&context);
        return context;
    }
    static bool primary_is_active(int device) {
        unsigned flags;
        int active = 0;
        (void)find<CUresult(int, unsigned*, int*)>("cuDevicePrimaryCtxGetState")(device, &flags, &active);
        return active != 0;
    }
};

class DeviceContext : public DeviceHost {
  protected:
    void SetUp() override {
        testing::FLAGS_gtest_death_test_style = "threadsafe"; // starts anew
        DeviceHost::SetUp();
        xyz = plummer_points(test_size(5000, 800));
    }
    /// A context that the host makes, as OpenMM does; current from then on.
    static CUcontext own_context(int device) {
        CUcontext made = nullptr;
        EXPECT_EQ(Driver::find<CUresult(CUcontext*, unsigned, int)>("cuCtxCreate_v2")(&made, 0, device),
                  CUDA_SUCCESS);
        return made;
    }
    static void destroy(CUcontext context) {
        EXPECT_EQ(Driver::find<CUresult(CUcontext)>("cuCtxDestroy_v2")(context), CUDA_SUCCESS);
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
        before = Driver::current();
        found = field_of(xyz, "cuda");
        after = Driver::current();
    }).join();
    EXPECT_EQ(before, nullptr);
    EXPECT_EQ(after, nullptr);
    EXPECT_LT(difference(found, field_of(xyz, "cpu")), 2e-2);
}

TEST_F(DeviceContext, TheHostsOwnContextIsWorkedIn) {
    const std::vector<double> expected = field_of(xyz, "cuda");
    api->context_destroy(&context);
    CUcontext const own = own_context(0);
    const std::vector<double> found = field_there();
    EXPECT_EQ(Driver::current(), own);
    destroy(own);
    EXPECT_EQ(found, expected) << "the same bits in any context";
}

TEST_F(DeviceContext, AGraftContextFollowsItsHost) {
    CUcontext const first = own_context(0), second = own_context(0);
    create();
    std::vector<double> fields[2];
    for (CUcontext const here : {first, second}) {
        ASSERT_EQ(Driver::find<CUresult(CUcontext)>("cuCtxSetCurrent")(here), CUDA_SUCCESS);
        const OnDevice<double> positions(xyz), out(std::vector<double>(xyz.size(), -1));
        const Call call(positions.view(3), out.view(3));
        compute(call);
        EXPECT_EQ(Driver::current(), here);
        fields[here == second] = out.get();
    }
    api->context_destroy(&context);
    EXPECT_EQ(fields[0], fields[1]);
    destroy(second);
    destroy(first);
}

using DeviceContextDeathTest = DeviceContext;

TEST_F(DeviceContextDeathTest, NoPrimaryContextBesideTheHostsOwn) {
    EXPECT_EXIT(
        {
            own_context(0);
            field_there();
            std::exit(Driver::primary_is_active(0) || HasFailure() ? 1 : 0);
        },
        testing::ExitedWithCode(0), "");
}

TEST_F(DeviceContextDeathTest, NoContextOnGpuZeroForARankOfAnother) {
    int devices = 0;
    ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
    if (devices < 2)
        GTEST_SKIP() << "one device only";
    EXPECT_EXIT(
        {
            set("cuda.device", "1");
            field_of(xyz, "cuda");
            std::exit(Driver::primary_is_active(0) || !Driver::primary_is_active(1) || HasFailure() ? 1 : 0);
        },
        testing::ExitedWithCode(0), "");
}

} // namespace
