// SPDX-License-Identifier: BSD-3-Clause
// What hosts do to a library on a GPU without meaning harm: streams in capture, arrays of two devices, a
// device reset, fork, page-locked halves of arrays, memory that others have taken, hundreds of contexts.
#include "device_host.hpp"
#include "turns.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

using namespace graft::test;

namespace {

class Hostile : public DeviceHost {
  protected:
    void SetUp() override {
        DeviceHost::SetUp();
        xyz = plummer_points(test_size(20000, 1100));
        n = static_cast<int64_t>(xyz.size() / 3);
    }
    static int64_t free_bytes() {
        size_t free = 0, total = 0;
        EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
        return static_cast<int64_t>(free);
    }
    int32_t attempt(const Call& call) { return api->compute(context, &call.particles, &call.results); }
    std::vector<double> xyz;
    int64_t n = 0;
};

TEST_F(Hostile, AStreamInCaptureIsRefusedAndStaysInCapture) {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    const OnDevice<double> positions(xyz), out(std::vector<double>(xyz.size(), -1));
    const Call call(positions.view(3), out.view(3));
    for (int warm = 0; warm < 2; ++warm) {
        create();
        ASSERT_EQ(api->context_set_stream(context, stream), GRAFT_OK);
        for (int k = 0; k < 3 * warm; ++k)
            compute(call);
        for (const cudaStreamCaptureMode mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeRelaxed}) {
            ASSERT_EQ(cudaStreamBeginCapture(stream, mode), cudaSuccess);
            expect_error(attempt(call), GRAFT_ERROR_ARGUMENT, "capture");
            expect_error(api->compute_begin(context, &call.particles, &call.results), GRAFT_ERROR_ARGUMENT,
                         "capture");
            ASSERT_NO_FATAL_FAILURE(end_capture(stream, 0));
        }
        compute(call);
    }
    const std::vector<double> found = out.get();
    ASSERT_EQ(api->context_set_stream(context, nullptr), GRAFT_OK);
    EXPECT_EQ(found, field_of(xyz, "gpu"));
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

/// First computations allocate, which CUDA refuses to a thread that captures, unless it is asked not to.
TEST_F(Hostile, AHostThatCapturesElsewhereIsNotDisturbed) {
    const std::vector<double> expected = field_of(xyz, "gpu");
    const OnDevice<double> positions(xyz), out(std::vector<double>(xyz.size(), -1));
    const Call call(positions.view(3), out.view(3));
    cudaStream_t other = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
    double* scratch = nullptr;
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&scratch), 1000), cudaSuccess);
    create();
    ASSERT_EQ(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal), cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(scratch, 0, 1000, other), cudaSuccess);
    for (int k = 0; k < 4; ++k)
        compute(call);
    api->context_destroy(&context);
    ASSERT_NO_FATAL_FAILURE(end_capture(other, 1));
    EXPECT_EQ(out.get(), expected);
    cudaFree(scratch);
    EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
}

TEST_F(Hostile, DefaultStreamsByTheirHandles) {
    const std::vector<double> expected = field_of(xyz, "gpu");
    const size_t bytes = xyz.size() * sizeof(double);
    double* pinned = nullptr;
    ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&pinned), bytes), cudaSuccess);
    std::copy(xyz.begin(), xyz.end(), pinned);
    for (cudaStream_t stream : {cudaStreamLegacy, cudaStreamPerThread}) {
        create();
        ASSERT_EQ(api->context_set_stream(context, stream), GRAFT_OK);
        const OnDevice<double> positions(std::vector<double>(xyz.size(), 0)),
            out(std::vector<double>(xyz.size(), -1)), large(std::vector<double>(10 * xyz.size(), 0));
        const Call call(positions.view(3), out.view(3));
        for (int k = 0; k < 4; ++k) { // work is pending, and the positions come last
            ASSERT_EQ(cudaMemsetAsync(positions.data(), 0, bytes, stream), cudaSuccess);
            for (int m = 0; m < 20; ++m)
                ASSERT_EQ(cudaMemsetAsync(large.data(), m, 10 * bytes, stream), cudaSuccess);
            ASSERT_EQ(cudaMemcpyAsync(positions.data(), pinned, bytes, cudaMemcpyHostToDevice, stream),
                      cudaSuccess);
            compute(call);
            ASSERT_EQ(out.get(), expected) << "run " << k;
        }
        api->context_destroy(&context);
    }
    cudaFreeHost(pinned);
}

TEST_F(Hostile, ArraysOfTwoDevicesAreRefused) {
    int devices = 0;
    ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
    if (devices < 2)
        GTEST_SKIP() << "one device only";
    const OnDevice<double> here(xyz), out_here(std::vector<double>(xyz.size(), -1));
    ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
    const OnDevice<double> there(xyz), out_there(std::vector<double>(xyz.size(), -1));
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    const auto at_1 = [](graft_array view) {
        view.device = 1;
        return view;
    };
    create();
    expect_error(attempt(Call(here.view(3), at_1(out_there.view(3)))), GRAFT_ERROR_ARRAY,
                 "results.acceleration[0]");
    expect_error(attempt(Call(at_1(there.view(3)), out_here.view(3))), GRAFT_ERROR_ARRAY, "device 0");
    EXPECT_EQ(out_here.get(), std::vector<double>(xyz.size(), -1));
    compute(Call(here.view(3), out_here.view(3)));
    compute(Call(at_1(there.view(3)), at_1(out_there.view(3)))); // the context follows the arrays
    compute(Call(here.view(3), out_here.view(3)));
    EXPECT_EQ(out_here.get(), out_there.get());
    int now = -1;
    EXPECT_EQ(cudaGetDevice(&now), cudaSuccess);
    EXPECT_EQ(now, 0);
}

/// CUDA copies from memory that is page-locked as a whole or not at all.
TEST_F(Hostile, ArraysOfWhichAPartIsPageLocked) {
    const std::vector<double> expected = field_of(xyz, "gpu");
    const size_t bytes = xyz.size() * sizeof(double), page = 4096;
    auto* const block = static_cast<char*>(std::aligned_alloc(page, (bytes / page + 2) * page));
    ASSERT_NE(block, nullptr);
    std::memcpy(block, xyz.data(), bytes);
    const size_t half = bytes / 2 / page * page;
    std::vector<double> x, y, z, out(xyz.size(), -1);
    for (const bool first : {true, false}) {
        ASSERT_EQ(cudaHostRegister(first ? block : block + half, first ? half : bytes - half,
                                   cudaHostRegisterDefault),
                  cudaSuccess);
        create();
        std::vector<double> columns(xyz.size());
        compute(Call(array_at(reinterpret_cast<double*>(block), n, GRAFT_MEMORY_HOST, 3),
                     array_at(out.data(), n, GRAFT_MEMORY_HOST, 3)));
        EXPECT_EQ(out, expected);
        ASSERT_EQ(cudaHostUnregister(first ? block : block + half), cudaSuccess);
    }
    auto* const column = reinterpret_cast<double*>(block); // one contiguous column, x = y = z
    for (int64_t i = 0; i < n; ++i)
        column[i] = xyz[static_cast<size_t>(3 * i)];
    const auto by_columns = [&] {
        create();
        Call call(array_at(column, n, GRAFT_MEMORY_HOST), array_at(out.data(), n, GRAFT_MEMORY_HOST, 3));
        call.particles.position[1] = call.keep(2, array_at(column, n, GRAFT_MEMORY_HOST));
        call.particles.position[2] = call.keep(3, array_at(column, n, GRAFT_MEMORY_HOST));
        compute(call);
        return out;
    };
    const std::vector<double> plain = by_columns();
    const size_t part = static_cast<size_t>(n) * sizeof(double) / 2 / page * page;
    ASSERT_GT(part, 0u);
    ASSERT_EQ(cudaHostRegister(block, part, cudaHostRegisterDefault), cudaSuccess);
    EXPECT_EQ(by_columns(), plain) << "the first half is page-locked";
    ASSERT_EQ(cudaHostUnregister(block), cudaSuccess);
    ASSERT_EQ(cudaHostRegister(block + part, bytes / page * page - part, cudaHostRegisterDefault),
              cudaSuccess);
    EXPECT_EQ(by_columns(), plain) << "the second half is page-locked";
    ASSERT_EQ(cudaHostUnregister(block + part), cudaSuccess);
    std::free(block);
}

TEST_F(Hostile, AChildAfterForkIsToldAndTheParentGoesOn) {
    if (small_inputs())
        GTEST_SKIP() << "a sanitizer does not go with the child";
    create();
    std::vector<double> out(xyz.size(), -1);
    const Call call(array_at(xyz.data(), n, GRAFT_MEMORY_HOST, 3),
                    array_at(out.data(), n, GRAFT_MEMORY_HOST, 3));
    compute(call);
    const std::vector<double> expected = out;
    const pid_t child = fork();
    if (child == 0) {
        alarm(20); // a child that hangs dies
        const bool refused = attempt(call) == GRAFT_ERROR_DEVICE;
        graft_context* another = nullptr;
        const int32_t made = api->context_create(options, nullptr, &another);
        const bool second =
            made != GRAFT_OK || api->compute(another, &call.particles, &call.results) != GRAFT_OK;
        api->context_destroy(&another);
        api->context_destroy(&context);
        _exit(refused && second ? 0 : 1);
    }
    ASSERT_GT(child, 0);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "the child died by signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    std::fill(out.begin(), out.end(), -1);
    compute(call);
    EXPECT_EQ(out, expected);
}

/// Whatever is left: the same bits, or an error that names bytes and writes nothing; then all is well again.
TEST_F(Hostile, OthersTakeAllMemory) {
    if (small_inputs())
        GTEST_SKIP() << "other processes take memory, too";
    xyz = plummer_points(100000);
    n = 100000;
    const OnDevice<double> positions(xyz), out(std::vector<double>(xyz.size(), -1));
    std::vector<double> on_host(xyz.size(), -1);
    const Call calls[2] = {
        {positions.view(3), out.view(3)},
        {array_at(xyz.data(), n, GRAFT_MEMORY_HOST, 3), array_at(on_host.data(), n, GRAFT_MEMORY_HOST, 3)}};
    int refused = 0, done = 0;
    for (const char* method : {"tree", "direct"}) {
        set("method", method);
        create();
        compute(calls[0]);
        const std::vector<double> expected = out.get();
        for (const bool fresh : {true, false})
            for (int64_t left = 0; left <= (int64_t{256} << 20); left = left == 0 ? 2 << 20 : left * 3 / 2) {
                if (fresh)
                    api->context_destroy(&context);
                void* hog = nullptr;
                for (int64_t less = 0; hog == nullptr && less < (int64_t{64} << 20); less += 2 << 20)
                    if (cudaMalloc(&hog, static_cast<size_t>(std::max<int64_t>(free_bytes() - left - less,
                                                                               1))) != cudaSuccess)
                        (void)cudaGetLastError();
                ASSERT_NE(hog, nullptr);
                if (fresh)
                    create();
                for (const Call& call : calls) {
                    ASSERT_EQ(cudaMemset(out.data(), 0xff, xyz.size() * sizeof(double)), cudaSuccess);
                    std::fill(on_host.begin(), on_host.end(), -1);
                    const int32_t status = attempt(call);
                    if (status == GRAFT_OK) {
                        ++done;
                        EXPECT_EQ(&call == calls ? out.get() : on_host, expected) << left << " bytes left";
                        continue;
                    }
                    ++refused;
                    expect_error(status, GRAFT_ERROR_MEMORY, "bytes");
                    EXPECT_EQ(std::count(on_host.begin(), on_host.end(), -1.0),
                              static_cast<int64_t>(on_host.size()));
                    for (double value : out.get())
                        ASSERT_TRUE(std::isnan(value)) << "written on failure";
                }
                ASSERT_EQ(cudaFree(hog), cudaSuccess);
                compute(calls[0]);
                ASSERT_EQ(out.get(), expected) << "after " << left << " bytes were left";
            }
    }
    EXPECT_GT(refused, 0);
    EXPECT_GT(done, 0);
    RecordProperty("refused", refused);
}

TEST_F(Hostile, ContextsLeaveNothingBehind) {
    const OnDevice<double> positions(xyz), out(std::vector<double>(xyz.size(), -1));
    const Call call(positions.view(3), out.view(3));
    const int turns = static_cast<int>(test_size(300, 8));
    int64_t before = 0;
    for (int turn = 0; turn < turns; ++turn) {
        create();
        if (turn % 3 != 0)
            compute(call);
        if (turn % 5 == 0) {
            ASSERT_EQ(api->compute_begin(context, &call.particles, &call.results), GRAFT_OK);
        }
        api->context_destroy(&context);
        if (turn == turns / 4)
            before = free_bytes();
    }
    if (!small_inputs()) {
        EXPECT_GE(free_bytes(), before - (int64_t{4} << 20));
    }
}

TEST_F(Hostile, SizesGoUpAndDown) {
    create();
    const std::vector<double> few(xyz.begin(), xyz.begin() + 3 * 33);
    const auto many = plummer_points(test_size(1000000, 1500), 9);
    const auto run = [&](const std::vector<double>& points) {
        const OnDevice<double> positions(points), out(std::vector<double>(points.size(), -1));
        for (int k = 0; k < 3; ++k)
            compute(Call(positions.view(3), out.view(3)));
        return out.get();
    };
    const std::vector<double> few_first = run(few), many_first = run(many);
    const double bytes = figure("bytes.device");
    for (int turn = 0; turn < test_size(3, 1); ++turn) {
        EXPECT_EQ(run(few), few_first);
        EXPECT_EQ(run(many), many_first);
    }
    EXPECT_LE(figure("bytes.device"), 1.2 * bytes);
}

TEST_F(Hostile, ManyThreads) {
    const std::vector<double> expected = field_of(xyz, "gpu");
    create();
    std::atomic<int> wrong{0}, other_field{0}, fine{0};
    const int turns = static_cast<int>(test_size(40, 3));
    std::mutex of_options; // one thread at a time may use an options object
    std::mutex of_all;
    const auto make = [&](graft_context** own) {
        const std::lock_guard<std::mutex> lock(of_options);
        wrong += api->context_create(options, nullptr, own) != GRAFT_OK;
    };
    const auto host = [&](int t) { // its own context, and all fight for one more
        std::unique_lock<std::mutex> mine = take_turn(of_all);
        graft_context* own = nullptr;
        make(&own);
        std::vector<double> out(xyz.size(), -1);
        for (int k = 0; k < turns; ++k) {
            pass_turn(mine);
            const OnDevice<double> positions(xyz), on_device(out);
            const Call call(positions.view(3), on_device.view(3));
            if (api->compute(own, &call.particles, &call.results) != GRAFT_OK)
                ++wrong, std::printf("own: %s\n", api->last_error());
            other_field += on_device.get() != expected;
            const int32_t status = api->compute(context, &call.particles, &call.results);
            fine += status == GRAFT_OK;
            if (status != GRAFT_ERROR_BUSY && status != GRAFT_OK)
                ++wrong, std::printf("shared: %s\n", api->last_error());
            other_field += status == GRAFT_OK && on_device.get() != expected;
            if ((k + t) % 8 == 0) {
                wrong += api->context_destroy(&own) != GRAFT_OK;
                make(&own);
            }
        }
        wrong += api->context_destroy(&own) != GRAFT_OK;
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back(host, t);
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(other_field, 0);
    EXPECT_GT(fine, 0);
}

/// Freed memory is no device memory any more, as CUDA says; and a target list is longer than it can be.
TEST_F(Hostile, PointersAndListsThatAreWrong) {
    create();
    const OnDevice<double> positions(xyz), out(std::vector<double>(xyz.size(), -1));
    graft_array freed{};
    {
        const OnDevice<double> gone(xyz);
        freed = gone.view(3);
    }
    expect_error(attempt(Call(freed, out.view(3))), GRAFT_ERROR_ARRAY, "host memory");
    std::vector<int32_t> list;
    for (int64_t k = 0; k < 5 * n; ++k)
        list.push_back(static_cast<int32_t>(k % n));
    const OnDevice<int32_t> targets(list);
    for (const char* method : {"tree", "direct"}) {
        set("method", method);
        create();
        Call call(positions.view(3), out.view(3));
        call.particles.target_index = call.keep(2, targets.view());
        expect_error(attempt(call), GRAFT_ERROR_VALUE, "target");
        EXPECT_EQ(out.get(), std::vector<double>(xyz.size(), -1));
    }
}

} // namespace
