// SPDX-License-Identifier: BSD-3-Clause
// Contexts on a GPU through the table: streams, two halves, several contexts at a time, the steady state, and
// failures that a context survives.
#include "device_host.hpp"

using namespace graft::test;

namespace {

class DeviceLife : public DeviceHost {
  protected:
    void SetUp() override {
        DeviceHost::SetUp();
        xyz = plummer_points(test_size(20000, 1500));
    }
    std::vector<double> xyz;
};

TEST_F(DeviceLife, SteadyStateTakesNoMemoryAndRepeatsNothing) {
    create();
    const OnDevice<double> positions(xyz), out(std::vector<double>(xyz.size(), -1));
    const Call call(positions.view(3), out.view(3));
    for (int k = 0; k < 3; ++k)
        compute(call);
    const double device = figure("device.allocations"), host = figure("allocations"),
                 waits = figure("device.waits"), repeats = figure("device.repeats");
    const std::vector<double> first = out.get();
    for (int k = 0; k < 5; ++k)
        compute(call);
    EXPECT_EQ(figure("device.allocations"), device);
    EXPECT_EQ(figure("allocations"), host);
    EXPECT_EQ(figure("device.repeats"), repeats);
    EXPECT_LE(figure("device.waits"), waits + 5) << "compute waits once, at its end";
    EXPECT_EQ(out.get(), first) << "the same bits in every run";
    EXPECT_GT(figure("device.launches"), 0);
    EXPECT_GT(figure("bytes.device"), 0);
    EXPECT_GT(figure("time_s.total"), 0);
}

/// liu2022's kernels add with atomics; nothing chooses them by itself, and who did says so.
TEST_F(DeviceLife, TheKernelIsToldAndWhetherBitsDiffer) {
    const OnDevice<double> positions(xyz), out(std::vector<double>(xyz.size(), -1));
    const Call call(positions.view(3), out.view(3));
    set("precision", "fp32");
    for (const std::string kernel : {"auto", "units", "block", "pairs-1d", "tiles-2d"}) {
        set("study.kernel", kernel.c_str());
        create();
        compute(call);
        const std::string told = words("kernel");
        EXPECT_EQ(told.find(kernel == "auto" ? "units" : kernel), 0u) << told;
        EXPECT_EQ(told.find("atomics") != std::string::npos, kernel == "pairs-1d" || kernel == "tiles-2d")
            << told;
    }
}

/// Where the host feeds them: with which buffers, who chose them, predicted and measured times of each step.
TEST_F(DeviceLife, TheFeedIsToldAndWhatWasPredictedOfIt) {
    const OnDevice<double> positions(xyz), out(std::vector<double>(xyz.size(), -1));
    const Call call(positions.view(3), out.view(3));
    set("precision", "fp32");
    set("study.kernel", "tiles-2d");
    create();
    compute(call);
    double value = 0;
    expect_error(api->query(context, "sizes.buffer", &value), GRAFT_ERROR_ABSENT, "sizes.buffer");
    set("study.buffer", "2048");
    create();
    for (int k = 0; k < 2; ++k) {
        compute(call);
        EXPECT_EQ(figure("sizes.buffer"), 2048);
        EXPECT_EQ(words("sizes.buffer_by"), "given");
        for (const char* step : {"feed", "feed_append", "feed_call"}) {
            EXPECT_GT(figure((std::string("time_s.") + step).c_str()), 0) << step;
            EXPECT_GT(figure((std::string("sizes.predicted_s.") + step).c_str()), 0) << step;
        }
        EXPECT_LE(figure("time_s.feed_append") + figure("time_s.feed_call") + figure("time_s.feed_wait"),
                  1.01 * figure("time_s.feed"));
    }
    set("study.buffer", "-1");
    create();
    compute(call);
    EXPECT_EQ(words("sizes.buffer_by"), "the first: the model needs its counts");
    set("study.buffer", "0");
    set("study.kernel", "auto");
}

TEST_F(DeviceLife, TwoHalvesOnAStreamOfTheHost) {
    create();
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(api->context_set_stream(context, stream), GRAFT_OK);
    const OnDevice<double> positions(std::vector<double>(xyz.size(), 0)),
        out(std::vector<double>(xyz.size(), -1));
    double* pinned = nullptr;
    ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&pinned), xyz.size() * sizeof(double)), cudaSuccess);
    std::copy(xyz.begin(), xyz.end(), pinned);
    const Call call(positions.view(3), out.view(3));
    for (int k = 0; k < 3; ++k) {
        // Positions arrive in stream order, just before: the computation must see them.
        ASSERT_EQ(cudaMemsetAsync(positions.data(), 0, xyz.size() * sizeof(double), stream), cudaSuccess);
        ASSERT_EQ(cudaMemcpyAsync(positions.data(), pinned, xyz.size() * sizeof(double),
                                  cudaMemcpyHostToDevice, stream),
                  cudaSuccess);
        ASSERT_EQ(api->compute_begin(context, &call.particles, &call.results), GRAFT_OK) << api->last_error();
        expect_error(api->compute_begin(context, &call.particles, &call.results), GRAFT_ERROR_CALL_ORDER,
                     "compute_end");
        ASSERT_EQ(api->compute_end(context), GRAFT_OK) << api->last_error();
    }
    const std::vector<double> staged = out.get();
    ASSERT_EQ(api->context_set_stream(context, nullptr), GRAFT_OK);
    EXPECT_EQ(staged, field_of(xyz, "gpu"));
    cudaFreeHost(pinned);
    cudaStreamDestroy(stream);
}

TEST_F(DeviceLife, ResultsAreInStreamOrder) {
    create();
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(api->context_set_stream(context, stream), GRAFT_OK);
    const OnDevice<double> positions(xyz), out(std::vector<double>(xyz.size(), -1)),
        copy(std::vector<double>(xyz.size(), -2));
    const Call call(positions.view(3), out.view(3));
    compute(call); // buffers have their size
    compute(call);
    const double repeats = figure("device.repeats");
    ASSERT_EQ(cudaMemsetAsync(out.data(), 0, xyz.size() * sizeof(double), stream), cudaSuccess);
    ASSERT_EQ(api->compute_begin(context, &call.particles, &call.results), GRAFT_OK) << api->last_error();
    ASSERT_EQ(cudaMemcpyAsync(copy.data(), out.data(), xyz.size() * sizeof(double), cudaMemcpyDeviceToDevice,
                              stream),
              cudaSuccess);
    ASSERT_EQ(api->compute_end(context), GRAFT_OK) << api->last_error();
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(figure("device.repeats"), repeats);
    EXPECT_EQ(copy.get(), out.get());
    api->context_destroy(&context);
    cudaStreamDestroy(stream);
}

TEST_F(DeviceLife, SeveralContextsInFlight) {
    const std::vector<double> expected = field_of(xyz, "gpu");
    const OnDevice<double> positions(xyz), out_0(std::vector<double>(xyz.size(), -1)),
        out_1(std::vector<double>(xyz.size(), -1));
    const Call call_0(positions.view(3), out_0.view(3)), call_1(positions.view(3), out_1.view(3));
    graft_context* other = nullptr;
    create();
    ASSERT_EQ(api->context_create(options, nullptr, &other), GRAFT_OK) << api->last_error();
    for (int k = 0; k < 2; ++k) {
        ASSERT_EQ(api->compute_begin(context, &call_0.particles, &call_0.results), GRAFT_OK)
            << api->last_error();
        ASSERT_EQ(api->compute_begin(other, &call_1.particles, &call_1.results), GRAFT_OK)
            << api->last_error();
        ASSERT_EQ(api->compute_end(other), GRAFT_OK) << api->last_error();
        ASSERT_EQ(api->compute_end(context), GRAFT_OK) << api->last_error();
    }
    EXPECT_EQ(out_0.get(), expected);
    EXPECT_EQ(out_1.get(), expected);
    ASSERT_EQ(api->compute_begin(other, &call_1.particles, &call_1.results), GRAFT_OK) << api->last_error();
    ASSERT_EQ(api->context_destroy(&other), GRAFT_OK); // waits
    EXPECT_EQ(out_1.get(), expected);
}

TEST_F(DeviceLife, BadValuesAreToldAndWriteNothing) {
    create();
    xyz[3 * 1234 + 1] = std::nan("");
    const OnDevice<double> bad(xyz), out(std::vector<double>(xyz.size(), -1));
    const Call call(bad.view(3), out.view(3));
    int32_t status = api->compute_begin(context, &call.particles, &call.results);
    if (status == GRAFT_OK)
        status = api->compute_end(context);
    expect_error(status, GRAFT_ERROR_VALUE, "1234");
    EXPECT_EQ(out.get(), std::vector<double>(xyz.size(), -1));
    xyz[3 * 1234 + 1] = 0.5;
    const OnDevice<double> good(xyz);
    compute(Call(good.view(3), out.view(3)));
}

TEST_F(DeviceLife, LackOfMemoryNamesBytesAndTheContextLivesOn) {
    set("gpu.memory", "300000");
    create();
    const OnDevice<double> positions(xyz), out(std::vector<double>(xyz.size(), -1));
    const Call call(positions.view(3), out.view(3));
    expect_error(api->compute(context, &call.particles, &call.results), GRAFT_ERROR_MEMORY, "bytes");
    EXPECT_EQ(out.get(), std::vector<double>(xyz.size(), -1));
    const std::vector<double> few(xyz.begin(), xyz.begin() + 3 * 10);
    const OnDevice<double> some(few), less(std::vector<double>(few.size(), -1));
    const Call small(some.view(3), less.view(3));
    const int32_t status = api->compute(context, &small.particles, &small.results);
    EXPECT_TRUE(status == GRAFT_OK || status == GRAFT_ERROR_MEMORY) << api->last_error();
    set("gpu.memory", "0");
    create();
    compute(call);
}

TEST_F(DeviceLife, OddSizes) {
    create();
    for (int64_t n : {0, 1, 2, 3, 63, 64, 65, 1000, 1, 0}) {
        const std::vector<double> points = plummer_points(std::max<int64_t>(n, 1));
        const OnDevice<double> positions(points), out(std::vector<double>(points.size(), -1));
        Call call(positions.view(3), out.view(3));
        call.views[0].n = call.views[1].n = call.particles.n = n;
        compute(call);
        if (n < 2) {
            EXPECT_EQ(out.get(), std::vector<double>(3, n == 1 ? 0.0 : -1.0)) << n;
        }
    }
    EXPECT_EQ(figure("n"), 0);
}

TEST_F(DeviceLife, TheHostsDeviceStaysCurrent) {
    int devices = 0, now = -1;
    ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
    if (devices < 2)
        GTEST_SKIP() << "one device only";
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    set("gpu.device", "1");
    EXPECT_LT(difference(field_of(xyz, "gpu"), field_of(xyz, "cpu")), 2e-2);
    ASSERT_EQ(cudaGetDevice(&now), cudaSuccess);
    EXPECT_EQ(now, 0);
    create();
    const OnDevice<double> positions(xyz), out(std::vector<double>(xyz.size(), -1)); // on device 0
    const Call call(positions.view(3), out.view(3));
    expect_error(api->compute(context, &call.particles, &call.results), GRAFT_ERROR_ARRAY, "gpu.device");
}

} // namespace
