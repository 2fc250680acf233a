// SPDX-License-Identifier: BSD-3-Clause
// Living contexts through the table: keys that they take and do not, what they tell of their failures, the log's level,
// structs of zeros, results that are read-only or added to.
#include "graft_loader.h"
#include "text.hpp"

#include <graft/graft.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <regex>
#include <string>
#include <thread>
#include <vector>

namespace {

class ContextTable : public testing::Test {
  protected:
    void SetUp() override {
        char message[1024];
        ASSERT_EQ(graft_load(GRAFT_REAL, &api, message, sizeof message), GRAFT_OK) << message;
        ASSERT_EQ(api->options_create(&options), GRAFT_OK);
        for (const auto& [key, value] : {std::pair{"backend", "cpu"}, {"method", "direct"}, {"precision", "fp64"}})
            ASSERT_EQ(api->options_set(options, key, value), GRAFT_OK) << api->last_error();
        ASSERT_EQ(api->context_create(options, nullptr, &context), GRAFT_OK) << api->last_error();
        describe();
    }
    void TearDown() override {
        if (api == nullptr)
            return;
        api->context_destroy(&context);
        api->options_destroy(&options);
    }
    /// Two masses at distance 2: the first is pulled by 5/4.
    void describe() {
        position = graft_rows_const_f64(x, 2, 3, 0);
        charge = graft_view_const_f64(m, 2);
        field = graft_rows_f64(a, 2, 3, 0);
        phi = graft_view_f64(potential, 2);
        particles = {};
        particles.struct_size = sizeof particles;
        particles.n = 2;
        particles.position[0] = &position;
        particles.charge = &charge;
        results = {};
        results.struct_size = sizeof results;
        results.acceleration[0] = &field;
        results.potential = &phi;
    }
    int32_t compute() { return api->compute(context, &particles, &results); }
    void expect_error(int32_t status, int32_t expected, const std::string& words) {
        EXPECT_EQ(status, expected) << api->last_error();
        EXPECT_NE(std::string(api->last_error()).find(words), std::string::npos) << api->last_error();
    }
    std::string value(const char* key) {
        char text[256] = "";
        EXPECT_EQ(api->context_get(context, key, text, sizeof text, nullptr), GRAFT_OK) << api->last_error();
        return text;
    }
    std::string error() {
        int64_t needed = 0;
        EXPECT_EQ(api->context_error(context, nullptr, 0, &needed), GRAFT_OK);
        std::string text(static_cast<size_t>(needed), 'x');
        EXPECT_EQ(api->context_error(context, text.data(), needed, nullptr), GRAFT_OK);
        EXPECT_EQ(text.back(), '\0');
        text.pop_back();
        return text;
    }

    const graft_api_v1* api = nullptr;
    graft_options* options = nullptr;
    graft_context* context = nullptr;
    double x[6] = {-1, 0, 0, 1, 0, 0}, m[2] = {3, 5}, a[6] = {}, potential[2] = {};
    graft_array position{}, charge{}, field{}, phi{};
    graft_particles particles{};
    graft_results results{};
};

/// Every key, by what options_explain says of it.
TEST_F(ContextTable, KeysAreLiveOrNeedANewContext) {
    std::string json;
    ASSERT_EQ(api->options_explain(GRAFT_EXPLAIN_JSON + GRAFT_EXPLAIN_STUDY, support::append, &json), GRAFT_OK);
    const std::regex one("\"key\": \"([^\"]*)\"[^}]*\"live\": (true|false)");
    int live = 0, fixed = 0;
    for (std::sregex_iterator at(json.begin(), json.end(), one), end; at != end; ++at) {
        const std::string key = (*at)[1];
        char text[256] = "";
        if (key.find('*') != std::string::npos ||
            api->context_get(context, key.c_str(), text, sizeof text, nullptr) != GRAFT_OK)
            continue;
        const int32_t status = api->context_set(context, key.c_str(), text);
        if ((*at)[2] == "true") {
            EXPECT_EQ(status, GRAFT_OK) << key << ": " << api->last_error();
            ++live;
        } else {
            expect_error(status, GRAFT_ERROR_CALL_ORDER, key);
            ++fixed;
        }
        EXPECT_EQ(value(key.c_str()), text) << key;
    }
    EXPECT_GT(live, 5);
    EXPECT_GT(fixed, 5);
    ASSERT_EQ(compute(), GRAFT_OK) << api->last_error();
    EXPECT_DOUBLE_EQ(a[0], 1.25);
}

TEST_F(ContextTable, ANewValueIsComputedWith) {
    ASSERT_EQ(api->context_destroy(&context), GRAFT_OK);
    ASSERT_EQ(api->options_set(options, "softening.kind", "plummer"), GRAFT_OK);
    ASSERT_EQ(api->options_set(options, "softening.length", "1"), GRAFT_OK);
    ASSERT_EQ(api->context_create(options, nullptr, &context), GRAFT_OK) << api->last_error();
    ASSERT_EQ(api->context_set(context, "softening.length", "2"), GRAFT_OK) << api->last_error();
    ASSERT_EQ(compute(), GRAFT_OK) << api->last_error();
    EXPECT_NEAR(a[0], 5 * 2 / std::pow(8, 1.5), 1e-15);
    EXPECT_EQ(value("softening.length"), "2");
    char text[32];
    ASSERT_EQ(api->options_get(options, "softening.length", text, sizeof text, nullptr), GRAFT_OK);
    EXPECT_STREQ(text, "1"); // the options were copied
    expect_error(api->context_set(context, "softening.length", "-1"), GRAFT_ERROR_DECK_RANGE, "softening.length");
    expect_error(api->context_set(context, "softening.lengt", "1"), GRAFT_ERROR_DECK_KEY, "softening.length");
    expect_error(api->context_set(context, "order", "two"), GRAFT_ERROR_DECK_TYPE, "order");
    EXPECT_EQ(value("softening.length"), "2");
    int64_t needed = 0;
    EXPECT_EQ(api->context_get(context, "softening.kind", nullptr, 0, &needed), GRAFT_OK);
    EXPECT_EQ(needed, 8);
    char small[4];
    expect_error(api->context_get(context, "softening.kind", small, sizeof small, nullptr), GRAFT_ERROR_ARGUMENT,
                 "8 bytes");
}

TEST_F(ContextTable, AContextKnowsItsLastFailure) {
    EXPECT_EQ(error(), "");
    std::thread([&] { EXPECT_EQ(api->context_set(context, "order", "13"), GRAFT_ERROR_DECK_RANGE); }).join();
    const std::string said = error();
    EXPECT_NE(said.find("order"), std::string::npos) << said;
    EXPECT_NE(said, api->last_error()); // this thread's
    EXPECT_EQ(api->options_set(options, "method", "none"), GRAFT_ERROR_DECK_RANGE);
    EXPECT_EQ(error(), said); // no call on the context
    ASSERT_EQ(compute(), GRAFT_OK) << api->last_error();
    EXPECT_EQ(error(), said);
    char small[3] = "xx";
    const std::string before = api->last_error();
    EXPECT_EQ(api->context_error(context, small, sizeof small, nullptr), GRAFT_ERROR_ARGUMENT);
    EXPECT_EQ(error(), said); // neither the call nor its failure changes the text
    x[3] = NAN;
    EXPECT_EQ(compute(), GRAFT_ERROR_VALUE);
    EXPECT_EQ(error(), api->last_error());
    EXPECT_NE(error(), said);
}

TEST_F(ContextTable, LogLevelZeroIsTheDecks) {
    std::vector<int32_t> levels;
    const auto note = [](void* user, int32_t level, const char*) {
        static_cast<std::vector<int32_t>*>(user)->push_back(level);
    };
    const auto said = [&](const char* deck, int32_t level) {
        levels.clear();
        graft_options* own = nullptr;
        graft_context* mine = nullptr;
        EXPECT_EQ(api->options_create(&own), GRAFT_OK);
        EXPECT_EQ(api->options_set(own, "log.level", deck), GRAFT_OK);
        EXPECT_EQ(api->options_set(own, "method", "tree"), GRAFT_OK);
        EXPECT_EQ(api->context_create(own, nullptr, &mine), GRAFT_OK) << api->last_error();
        EXPECT_EQ(api->context_set_log(mine, note, &levels, level), GRAFT_OK);
        EXPECT_EQ(api->compute(mine, &particles, &results), GRAFT_OK) << api->last_error();
        api->context_destroy(&mine);
        api->options_destroy(&own);
        return levels.size();
    };
    EXPECT_EQ(said("error", 0), 0u);
    const size_t informed = said("info", 0);
    EXPECT_GT(informed, 0u);
    for (const int32_t level : levels)
        EXPECT_TRUE(level >= GRAFT_LOG_ERROR && level <= GRAFT_LOG_INFO) << level;
    EXPECT_EQ(said("error", GRAFT_LOG_INFO), informed); // the call's own level wins
    EXPECT_GE(said("debug", 0), informed);
    expect_error(api->context_set_log(context, note, &levels, 5), GRAFT_ERROR_ARGUMENT, "level");
    expect_error(api->context_set_log(context, note, &levels, -1), GRAFT_ERROR_ARGUMENT, "level");
}

TEST_F(ContextTable, StructsOfZerosAreRefusedByName) {
    graft_particles nothing{};
    graft_results no_results{};
    graft_box box{};
    graft_units units{};
    graft_near_field near{};
    graft_near_plan* plan = nullptr;
    expect_error(api->compute(context, &nothing, &results), GRAFT_ERROR_ABI, "struct_size is 0");
    nothing.struct_size = sizeof nothing;
    no_results.struct_size = sizeof no_results;
    EXPECT_EQ(api->compute(context, &nothing, &no_results), GRAFT_OK) << api->last_error(); // no particles, nothing wanted
    nothing.n = 2;
    expect_error(api->compute(context, &nothing, &results), GRAFT_ERROR_ARGUMENT, "position");
    particles.charge = nullptr;
    expect_error(compute(), GRAFT_ERROR_ARGUMENT, "charge");
    expect_error(api->field_at(context, &particles, &particles, &results), GRAFT_ERROR_ARGUMENT, "charge");
    particles.charge_all = 2;
    EXPECT_EQ(compute(), GRAFT_OK) << api->last_error();
    EXPECT_DOUBLE_EQ(a[0], 0.5);
    box.struct_size = sizeof box;
    expect_error(api->context_set_box(context, &box), GRAFT_ERROR_ARGUMENT, "box");
    units.struct_size = sizeof units;
    expect_error(api->context_set_units(context, &units), GRAFT_ERROR_ARGUMENT, "");
    near.struct_size = sizeof near;
    expect_error(api->near_field_create(context, &near, &plan), GRAFT_ERROR_ARGUMENT, "dimension is 0");
    graft_array empty{};
    particles.position[0] = &empty;
    expect_error(compute(), GRAFT_ERROR_ABI, "struct_size is 0");
    empty.struct_size = sizeof empty;
    expect_error(compute(), GRAFT_ERROR_ARRAY, "particles.position[0]");
}

TEST_F(ContextTable, ReadOnlyArraysAreNoResults) {
    const double* fixed = a;
    const graft_array read_only = graft_rows_const_f64(fixed, 2, 3, 0);
    results.acceleration[0] = &read_only;
    expect_error(compute(), GRAFT_ERROR_ARRAY, "results.acceleration[0]");
    graft_array both = read_only;
    both.flags |= GRAFT_ARRAY_ADD;
    results.acceleration[0] = &both;
    expect_error(compute(), GRAFT_ERROR_ARRAY, "results.acceleration[0]");
    expect_error(api->field_at(context, &particles, &particles, &results), GRAFT_ERROR_ARRAY, "acceleration[0]");
    EXPECT_EQ(a[0], 0);
    EXPECT_EQ(potential[0], 0); // nothing is written on failure
    describe();
    int32_t owner[2] = {-1, -1};
    graft_array owners = graft_view_const_i32(owner, 2);
    graft_decomposition wanted{};
    wanted.struct_size = sizeof wanted;
    wanted.owner = &owners;
    expect_error(api->decompose(context, &particles, &wanted), GRAFT_ERROR_ARRAY, "owner");
    EXPECT_EQ(owner[0], -1);
    int64_t after = 0;
    owner[0] = owner[1] = 0;
    ASSERT_EQ(api->migrate_plan(context, &owners, &after), GRAFT_OK) << api->last_error(); // an input
    const graft_array *from[1] = {&charge}, *to[1] = {&charge};
    expect_error(api->migrate(context, 1, from, to), GRAFT_ERROR_ARRAY, "to[0]");
    field.flags = 8; // a flag that nobody knows
    expect_error(compute(), GRAFT_ERROR_ABI, "flags");
}

TEST_F(ContextTable, EachResultIsOverwrittenOrAddedTo) {
    a[0] = potential[0] = 100;
    field.flags = GRAFT_ARRAY_ADD;
    ASSERT_EQ(compute(), GRAFT_OK) << api->last_error();
    EXPECT_DOUBLE_EQ(a[0], 101.25);
    EXPECT_DOUBLE_EQ(potential[0], -2.5);
    position.flags |= GRAFT_ARRAY_ADD; // ignored on inputs
    field.flags = 0, phi.flags = GRAFT_ARRAY_ADD;
    ASSERT_EQ(api->field_at(context, &particles, &particles, &results), GRAFT_OK) << api->last_error();
    EXPECT_DOUBLE_EQ(a[0], 1.25);
    EXPECT_DOUBLE_EQ(potential[0], -5);
    double axes[3][2] = {{1, 1}, {1, 1}, {1, 1}};
    graft_array each[3];
    for (int axis = 0; axis < 3; ++axis) {
        each[axis] = graft_view_f64(axes[axis], 2);
        results.acceleration[axis] = &each[axis];
    }
    each[1].flags = GRAFT_ARRAY_ADD; // of three arrays, one
    graft_array xyz[3] = {graft_view(x, GRAFT_F64, 2, 1, 24, 0), graft_view(x + 1, GRAFT_F64, 2, 1, 24, 0),
                          graft_view(x + 2, GRAFT_F64, 2, 1, 24, 0)};
    for (int axis = 0; axis < 3; ++axis)
        particles.position[axis] = &xyz[axis];
    ASSERT_EQ(compute(), GRAFT_OK) << api->last_error();
    EXPECT_DOUBLE_EQ(axes[0][0], 1.25);
    EXPECT_DOUBLE_EQ(axes[1][0], 1);
    EXPECT_DOUBLE_EQ(axes[2][0], 0);
}

TEST_F(ContextTable, WhatIsInFlightIsPolledAndMemoryComesBack) {
    int32_t done = -1;
    void* event = &done;
    expect_error(api->compute_poll(context, &done), GRAFT_ERROR_CALL_ORDER, "compute_begin");
    expect_error(api->compute_event(context, &event), GRAFT_ERROR_CALL_ORDER, "compute_begin");
    results.flags = GRAFT_RESULTS_NO_REPAIR;
    ASSERT_EQ(api->compute_begin(context, &particles, &results), GRAFT_OK) << api->last_error();
    expect_error(api->compute_poll(context, nullptr), GRAFT_ERROR_ARGUMENT, "done is NULL");
    expect_error(api->compute_event(context, nullptr), GRAFT_ERROR_ARGUMENT, "event is NULL");
    ASSERT_EQ(api->compute_poll(context, &done), GRAFT_OK) << api->last_error();
    EXPECT_EQ(done, 1);
    ASSERT_EQ(api->compute_event(context, &event), GRAFT_OK) << api->last_error();
    EXPECT_EQ(event, nullptr);
    expect_error(api->context_release_memory(context), GRAFT_ERROR_CALL_ORDER, "compute_end");
    expect_error(api->context_set_device_allocator(context, nullptr), GRAFT_ERROR_CALL_ORDER, "compute_end");
    expect_error(api->context_set(context, "mac.theta", "0.5"), GRAFT_ERROR_CALL_ORDER, "compute_end");
    ASSERT_EQ(api->compute_end(context), GRAFT_OK) << api->last_error();
    EXPECT_DOUBLE_EQ(a[0], 1.25);
    ASSERT_EQ(api->context_release_memory(context), GRAFT_OK) << api->last_error();
    ASSERT_EQ(api->context_release_memory(context), GRAFT_OK) << api->last_error();
    ASSERT_EQ(compute(), GRAFT_OK) << api->last_error();
}

TEST_F(ContextTable, DeviceAllocatorsAreChecked) {
    graft_device_allocator allocator{};
    expect_error(api->context_set_device_allocator(context, &allocator), GRAFT_ERROR_ABI, "struct_size is 0");
    allocator.struct_size = sizeof allocator;
    expect_error(api->context_set_device_allocator(context, &allocator), GRAFT_ERROR_ARGUMENT, "allocate");
    allocator.allocate = [](void*, int64_t, int32_t, void*) -> void* { return nullptr; };
    expect_error(api->context_set_device_allocator(context, &allocator), GRAFT_ERROR_ARGUMENT, "release");
    allocator.release = [](void*, void*, int64_t, int32_t, void*) {};
    EXPECT_EQ(api->context_set_device_allocator(context, &allocator), GRAFT_OK) << api->last_error();
    allocator.flags = 1;
    expect_error(api->context_set_device_allocator(context, &allocator), GRAFT_ERROR_ABI, "flags");
    EXPECT_EQ(compute(), GRAFT_OK) << api->last_error(); // a CPU asks for none
    EXPECT_EQ(api->context_set_device_allocator(context, nullptr), GRAFT_OK) << api->last_error();
}

} // namespace
