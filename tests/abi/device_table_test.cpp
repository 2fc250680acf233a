// SPDX-License-Identifier: BSD-3-Clause
// The entries for GPUs through the table of the built library, on machines with and without a
// GPU: what a host is told where there is none, and the order of compute_begin and compute_end.
#include "graft_loader.h"
#include "text.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace {

class DeviceTable : public testing::Test {
  protected:
    void SetUp() override {
        char message[1024];
        ASSERT_EQ(graft_load(GRAFT_REAL, &api, message, sizeof message), GRAFT_OK) << message;
        ASSERT_EQ(api->options_create(&options), GRAFT_OK);
        positions = view(xyz.data(), 3);
        field = view(out.data(), 3);
        particles.struct_size = sizeof particles;
        particles.n = 2;
        particles.position[0] = &positions;
        particles.charge_all = 1;
        results.struct_size = sizeof results;
        results.acceleration[0] = &field;
    }
    void TearDown() override {
        if (api == nullptr)
            return;
        api->context_destroy(&context);
        api->options_destroy(&options);
    }
    static graft_array view(double* data, int32_t components) {
        graft_array a{};
        a.struct_size = sizeof a;
        a.data = data;
        a.dtype = GRAFT_F64;
        a.memory = GRAFT_MEMORY_HOST;
        a.components = components;
        a.n = 2;
        a.bytes = 2 * components * 8;
        return a;
    }
    void create(const char* backend) {
        ASSERT_EQ(api->options_set(options, "backend", backend), GRAFT_OK) << api->last_error();
        ASSERT_EQ(api->context_create(options, nullptr, &context), GRAFT_OK) << api->last_error();
    }
    void expect_error(int32_t status, int32_t expected, const char* words) {
        EXPECT_EQ(status, expected) << api->last_error();
        EXPECT_NE(std::string(api->last_error()).find(words), std::string::npos) << api->last_error();
    }
    /// Whether a GPU can be used here, as the library says.
    bool has_device() {
        std::string text;
        EXPECT_EQ(api->run_tool("info", "", support::append, &text), GRAFT_OK) << api->last_error();
        EXPECT_NE(text.find("\"gpu\":{"), std::string::npos) << text;
        return text.find("\"gpu\":{\"usable\":true") != std::string::npos;
    }
    std::string text_of(const char* key) { return support::text_of(api, context, key); }

    const graft_api_v1* api = nullptr;
    graft_options* options = nullptr;
    graft_context* context = nullptr;
    std::vector<double> xyz = {0, 0, 0, 2, 0, 0}, out = std::vector<double>(6, -1);
    graft_array positions{}, field{};
    graft_particles particles{};
    graft_results results{};
};

TEST_F(DeviceTable, GpuWithoutADeviceSaysWhatWasTried) {
    ASSERT_EQ(api->options_set(options, "backend", "gpu"), GRAFT_OK);
    if (has_device())
        GTEST_SKIP() << "there is a device";
    expect_error(api->context_create(options, nullptr, &context), GRAFT_ERROR_DEVICE, "backend gpu: ");
    const std::string message = api->last_error();
    EXPECT_TRUE(message.find("libgraft_cuda.so") != std::string::npos ||
                message.find("no CUDA device can be used") != std::string::npos)
        << message;
    EXPECT_NE(message.find("backend: auto"), std::string::npos) << message;
    EXPECT_EQ(context, nullptr);
}

TEST_F(DeviceTable, AutoComputesAndSaysWhatItChose) {
    std::string log;
    create("auto");
    ASSERT_EQ(
        api->context_set_log(
            context,
            [](void* user, int32_t, const char* message) { *static_cast<std::string*>(user) += message; },
            &log, GRAFT_LOG_INFO),
        GRAFT_OK);
    ASSERT_EQ(api->compute(context, &particles, &results), GRAFT_OK) << api->last_error();
    EXPECT_NEAR(out[0], 0.25, 1e-6);
    EXPECT_NE(log.find("backend: "), std::string::npos) << log;
    const std::string chosen = text_of("backend");
    EXPECT_TRUE(chosen == "cpu" || (chosen == "gpu" && has_device())) << chosen;
}

TEST_F(DeviceTable, CpuNeverTakesDeviceArrays) {
    create("cpu");
    positions.memory = GRAFT_MEMORY_DEVICE;
    expect_error(api->compute(context, &particles, &results), GRAFT_ERROR_UNSUPPORTED,
                 "particles.position[0]");
    positions.memory = GRAFT_MEMORY_AUTO;
    field.memory = GRAFT_MEMORY_MANAGED;
    expect_error(api->compute(context, &particles, &results), GRAFT_ERROR_UNSUPPORTED, "backend: cpu");
    EXPECT_EQ(out, std::vector<double>(6, -1));
    field.memory = GRAFT_MEMORY_AUTO;
    EXPECT_EQ(api->compute(context, &particles, &results), GRAFT_OK) << api->last_error();
    EXPECT_EQ(text_of("backend"), "cpu");
}

TEST_F(DeviceTable, HostPointersThatAreSaidToBeTheDevicesAreRefused) {
    create("auto");
    for (int32_t memory : {GRAFT_MEMORY_DEVICE, GRAFT_MEMORY_MANAGED}) {
        field.memory = memory;
        expect_error(api->compute(context, &particles, &results),
                     has_device() ? GRAFT_ERROR_ARRAY : GRAFT_ERROR_DEVICE, "results.acceleration[0]");
    }
    for (int32_t memory : {4, 5, -1}) {
        field.memory = memory;
        expect_error(api->compute(context, &particles, &results), GRAFT_ERROR_ARRAY, "GRAFT_MEMORY_AUTO (0)");
    }
    EXPECT_EQ(out, std::vector<double>(6, -1));
}

TEST_F(DeviceTable, DecomposeTakesHostArraysOnly) {
    create("auto");
    graft_decomposition decomposition{};
    decomposition.struct_size = sizeof decomposition;
    positions.memory = GRAFT_MEMORY_DEVICE;
    expect_error(api->decompose(context, &particles, &decomposition), GRAFT_ERROR_UNSUPPORTED,
                 "host arrays only");
}

TEST_F(DeviceTable, TwoHalvesGiveWhatOneCallGives) {
    create("auto");
    ASSERT_EQ(api->compute(context, &particles, &results), GRAFT_OK) << api->last_error();
    const std::vector<double> whole = out;
    out.assign(6, -1);
    ASSERT_EQ(api->compute_begin(context, &particles, &results), GRAFT_OK) << api->last_error();
    ASSERT_EQ(api->compute_end(context), GRAFT_OK) << api->last_error();
    EXPECT_EQ(out, whole);
}

TEST_F(DeviceTable, WhatIsInFlightKeepsOtherCallsOut) {
    create("auto");
    expect_error(api->compute_end(context), GRAFT_ERROR_CALL_ORDER, "compute_begin");
    ASSERT_EQ(api->context_set_stream(context, nullptr), GRAFT_OK);
    ASSERT_EQ(api->compute_begin(context, &particles, &results), GRAFT_OK) << api->last_error();
    graft_units units{};
    units.struct_size = sizeof units;
    units.constant = 1;
    const char* words = "compute_end";
    expect_error(api->compute_begin(context, &particles, &results), GRAFT_ERROR_CALL_ORDER, words);
    expect_error(api->compute(context, &particles, &results), GRAFT_ERROR_CALL_ORDER, words);
    expect_error(api->field_at(context, &particles, &particles, &results), GRAFT_ERROR_CALL_ORDER, words);
    expect_error(api->context_set_box(context, nullptr), GRAFT_ERROR_CALL_ORDER, words);
    expect_error(api->context_set_units(context, &units), GRAFT_ERROR_CALL_ORDER, words);
    expect_error(api->context_set_stream(context, nullptr), GRAFT_ERROR_CALL_ORDER, words);
    expect_error(api->context_set_communicator(context, nullptr), GRAFT_ERROR_CALL_ORDER, words);
    ASSERT_EQ(api->context_set_log(context, nullptr, nullptr, 0), GRAFT_OK);
    ASSERT_EQ(api->compute_end(context), GRAFT_OK) << api->last_error();
    expect_error(api->compute_end(context), GRAFT_ERROR_CALL_ORDER, "compute_begin");
    EXPECT_NEAR(out[0], 0.25, 1e-6);
}

TEST_F(DeviceTable, ADestroyedContextHasFinished) {
    create("auto");
    ASSERT_EQ(api->compute_begin(context, &particles, &results), GRAFT_OK) << api->last_error();
    ASSERT_EQ(api->context_destroy(&context), GRAFT_OK) << api->last_error();
    EXPECT_NEAR(out[0], 0.25, 1e-6);
}

TEST_F(DeviceTable, AFailedBeginLeavesNothingInFlight) {
    create("auto");
    xyz[3] = std::numeric_limits<double>::quiet_NaN();
    int32_t status = api->compute_begin(context, &particles, &results);
    if (status == GRAFT_OK) // on a GPU the values are looked at there
        status = api->compute_end(context);
    expect_error(status, GRAFT_ERROR_VALUE, "1");
    EXPECT_EQ(out, std::vector<double>(6, -1));
    xyz[3] = 2;
    EXPECT_EQ(api->compute(context, &particles, &results), GRAFT_OK) << api->last_error();
}

TEST_F(DeviceTable, NullsAreRefused) {
    expect_error(api->compute_begin(nullptr, &particles, &results), GRAFT_ERROR_ARGUMENT, "context is NULL");
    expect_error(api->compute_end(nullptr), GRAFT_ERROR_ARGUMENT, "context is NULL");
    expect_error(api->context_set_stream(nullptr, nullptr), GRAFT_ERROR_ARGUMENT, "context is NULL");
    create("cpu");
    expect_error(api->compute_begin(context, nullptr, &results), GRAFT_ERROR_ARGUMENT, "particles is NULL");
    expect_error(api->compute_end(context), GRAFT_ERROR_CALL_ORDER, "compute_begin");
}

} // namespace
