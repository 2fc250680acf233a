// SPDX-License-Identifier: BSD-3-Clause
// The library through its table, as any host sees it: options, decks, tools, statuses, and every wrong use of
// them.
#include "graft_loader.h"
#include "text.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

class Table : public testing::Test {
  protected:
    void SetUp() override {
        char message[1024];
        ASSERT_EQ(graft_load(GRAFT_REAL, &api, message, sizeof message), GRAFT_OK) << message;
        ASSERT_EQ(api->options_create(&options), GRAFT_OK);
    }
    void TearDown() override {
        if (api != nullptr)
            api->options_destroy(&options);
    }
    void expect_error(int32_t status, int32_t expected, const char* words) {
        EXPECT_EQ(status, expected) << api->last_error();
        EXPECT_NE(std::string(api->last_error()).find(words), std::string::npos) << api->last_error();
    }
    std::string value(const char* key) {
        char text[256] = "";
        EXPECT_EQ(api->options_get(options, key, text, sizeof text, nullptr), GRAFT_OK) << api->last_error();
        return text;
    }

    const graft_api_v1* api = nullptr;
    graft_options* options = nullptr;
};

using support::append;

TEST_F(Table, EveryEntryIsThere) {
    const char* entries = reinterpret_cast<const char*>(api) + offsetof(graft_api_v1, version);
    for (size_t at = 0; at < sizeof(graft_api_v1) - offsetof(graft_api_v1, version); at += sizeof(void*)) {
        void* entry = nullptr;
        std::memcpy(&entry, entries + at, sizeof entry);
        EXPECT_NE(entry, nullptr) << "entry at byte " << at;
    }
}

TEST_F(Table, EveryStatusHasAText) {
    for (int32_t status : {0,   100, 101, 102, 103, 104, 105, 106, 107, 108, 200,
                           300, 400, 500, 501, 502, 503, 504, 600, 601, 602, 900})
        EXPECT_STRNE(api->status_text(status), "unknown status") << status;
    for (int32_t status : {-1, 1, 99, 109, 505, 1000000})
        EXPECT_STREQ(api->status_text(status), "unknown status") << status;
}

TEST_F(Table, LastErrorIsPerThread) {
    EXPECT_EQ(api->options_set(options, "nonsense", "1"), GRAFT_ERROR_DECK_KEY);
    const std::string mine = api->last_error();
    std::string other = "unset";
    std::thread([&] { other = api->last_error(); }).join();
    EXPECT_NE(mine, "");
    EXPECT_EQ(other, "");
}

TEST_F(Table, NullsAreRefusedEverywhere) {
    expect_error(api->options_create(nullptr), GRAFT_ERROR_ARGUMENT, "options is NULL");
    EXPECT_EQ(api->options_destroy(nullptr), GRAFT_OK);
    expect_error(api->options_set(nullptr, "order", "1"), GRAFT_ERROR_ARGUMENT, "options is NULL");
    expect_error(api->options_set(options, nullptr, "1"), GRAFT_ERROR_ARGUMENT, "key is NULL");
    expect_error(api->options_set(options, "order", nullptr), GRAFT_ERROR_ARGUMENT, "value is NULL");
    expect_error(api->options_get(options, nullptr, nullptr, 0, nullptr), GRAFT_ERROR_ARGUMENT,
                 "key is NULL");
    expect_error(api->options_set_int64(options, nullptr, 1), GRAFT_ERROR_ARGUMENT, "key is NULL");
    expect_error(api->options_set_double(nullptr, "order", 1), GRAFT_ERROR_ARGUMENT, "options is NULL");
    expect_error(api->options_get_int64(options, "order", nullptr), GRAFT_ERROR_ARGUMENT, "value is NULL");
    expect_error(api->options_get_double(options, "order", nullptr), GRAFT_ERROR_ARGUMENT, "value is NULL");
    expect_error(api->options_read_file(options, nullptr), GRAFT_ERROR_ARGUMENT, "path is NULL");
    expect_error(api->options_read_text(options, nullptr, 5, nullptr), GRAFT_ERROR_ARGUMENT, "text is");
    expect_error(api->options_read_text(options, "a", -1, nullptr), GRAFT_ERROR_ARGUMENT, "-1 bytes");
    expect_error(api->options_explain(GRAFT_EXPLAIN_TEXT, nullptr, nullptr), GRAFT_ERROR_ARGUMENT,
                 "sink is NULL");
    expect_error(api->context_set(nullptr, "order", "1"), GRAFT_ERROR_ARGUMENT, "context is NULL");
    expect_error(api->context_get(nullptr, "order", nullptr, 0, nullptr), GRAFT_ERROR_ARGUMENT,
                 "context is NULL");
    expect_error(api->context_error(nullptr, nullptr, 0, nullptr), GRAFT_ERROR_ARGUMENT, "context is NULL");
    expect_error(api->context_set_device_allocator(nullptr, nullptr), GRAFT_ERROR_ARGUMENT,
                 "context is NULL");
    expect_error(api->context_release_memory(nullptr), GRAFT_ERROR_ARGUMENT, "context is NULL");
    expect_error(api->context_create(nullptr, nullptr, nullptr), GRAFT_ERROR_ARGUMENT, "options is NULL");
    expect_error(api->context_create(options, nullptr, nullptr), GRAFT_ERROR_ARGUMENT, "context is NULL");
    expect_error(api->run_tool(nullptr, "", append, nullptr), GRAFT_ERROR_ARGUMENT, "name is NULL");
    expect_error(api->run_tool("deck", "", nullptr, nullptr), GRAFT_ERROR_ARGUMENT, "sink is NULL");
}

TEST_F(Table, GetTellsTheLengthAndRefusesSmallBuffers) {
    int64_t needed = 0;
    EXPECT_EQ(api->options_set(options, "host.name", "eight ch"), GRAFT_OK);
    EXPECT_EQ(api->options_get(options, "host.name", nullptr, 0, &needed), GRAFT_OK);
    EXPECT_EQ(needed, 9);
    char small[8] = "xxxxxxx";
    expect_error(api->options_get(options, "host.name", small, sizeof small, &needed), GRAFT_ERROR_ARGUMENT,
                 "9 bytes");
    EXPECT_STREQ(small, "");
    expect_error(api->options_get(options, "host.other", small, sizeof small, nullptr), GRAFT_ERROR_ABSENT,
                 "not given");
    expect_error(api->options_get(options, "order", nullptr, 5, nullptr), GRAFT_ERROR_ARGUMENT, "capacity 5");
    expect_error(api->options_get(options, "order", small, -5, nullptr), GRAFT_ERROR_ARGUMENT, "capacity -5");
}

TEST_F(Table, NumbersAndTextsAreTwoViewsOfTheSameValues) {
    int64_t whole = -1;
    double real = -1;
    ASSERT_EQ(api->options_set_int64(options, "order", 1), GRAFT_OK) << api->last_error();
    EXPECT_EQ(value("order"), "1");
    ASSERT_EQ(api->options_set_int64(options, "mac.theta", 1), GRAFT_OK) << api->last_error();
    EXPECT_EQ(value("mac.theta"), "1");
    ASSERT_EQ(api->options_set_double(options, "mac.theta", 0.1), GRAFT_OK) << api->last_error();
    EXPECT_EQ(value("mac.theta"), "0.1");
    ASSERT_EQ(api->options_get_double(options, "mac.theta", &real), GRAFT_OK) << api->last_error();
    EXPECT_EQ(real, 0.1);
    ASSERT_EQ(api->options_set_double(options, "order", 2), GRAFT_OK) << api->last_error();
    ASSERT_EQ(api->options_get_int64(options, "order", &whole), GRAFT_OK) << api->last_error();
    EXPECT_EQ(whole, 2);
    ASSERT_EQ(api->options_get_double(options, "order", &real), GRAFT_OK) << api->last_error();
    EXPECT_EQ(real, 2);
    ASSERT_EQ(api->options_set_int64(options, "balance.force", 1), GRAFT_OK) << api->last_error();
    EXPECT_EQ(value("balance.force"), "true");
    ASSERT_EQ(api->options_get_int64(options, "balance.force", &whole), GRAFT_OK) << api->last_error();
    EXPECT_EQ(whole, 1);
}

TEST_F(Table, NumbersThatAKeyDoesNotTakeChangeNothing) {
    int64_t whole = -1;
    double real = -1;
    const std::string before = value("order");
    expect_error(api->options_set_double(options, "order", 1.5), GRAFT_ERROR_DECK_TYPE, "order");
    expect_error(api->options_set_double(options, "order", NAN), GRAFT_ERROR_DECK_TYPE, "order");
    expect_error(api->options_set_int64(options, "order", 13), GRAFT_ERROR_DECK_RANGE, "order");
    expect_error(api->options_set_int64(options, "order", INT64_MIN), GRAFT_ERROR_DECK_RANGE, "order");
    expect_error(api->options_set_double(options, "mac.theta", INFINITY), GRAFT_ERROR_DECK_TYPE, "mac.theta");
    expect_error(api->options_set_int64(options, "balance.force", 2), GRAFT_ERROR_DECK_RANGE, "balance.force");
    expect_error(api->options_set_int64(options, "method", 1), GRAFT_ERROR_DECK_TYPE, "method");
    expect_error(api->options_get_int64(options, "method", &whole), GRAFT_ERROR_DECK_TYPE, "method");
    expect_error(api->options_get_double(options, "method", &real), GRAFT_ERROR_DECK_TYPE, "method");
    ASSERT_EQ(api->options_set(options, "mac.theta", "0.5"), GRAFT_OK);
    expect_error(api->options_get_int64(options, "mac.theta", &whole), GRAFT_ERROR_DECK_TYPE, "mac.theta");
    expect_error(api->options_set_int64(options, "mac.theat", 1), GRAFT_ERROR_DECK_KEY, "mac.theta");
    expect_error(api->options_get_double(options, "mac.theat", &real), GRAFT_ERROR_DECK_KEY, "mac.theta");
    expect_error(api->options_get_double(options, "run.time_step", &real), GRAFT_ERROR_ABSENT, "run.time_step");
    EXPECT_EQ(value("order"), before);
    EXPECT_EQ(whole, -1);
    EXPECT_EQ(real, -1);
}

TEST_F(Table, DecksAreAllOrNothing) {
    const std::string deck = "order: 3\nmac:\n  theta: 9\n";
    expect_error(api->options_read_text(options, deck.data(), static_cast<int64_t>(deck.size()), "my.yaml"),
                 GRAFT_ERROR_DECK_RANGE, "my.yaml:3:10: key 'mac.theta': 9 is out of range");
    EXPECT_NE(value("order"), "3");
    expect_error(api->options_read_file(options, "/no/such/deck.yaml"), GRAFT_ERROR_DECK_FILE,
                 "/no/such/deck.yaml");
    EXPECT_EQ(api->options_read_text(options, "order: 3", 8, nullptr), GRAFT_OK) << api->last_error();
    EXPECT_EQ(value("order"), "3");
}

graft_array doubles(std::vector<double>& data) {
    graft_array a{};
    a.struct_size = sizeof a;
    a.data = data.data();
    a.dtype = GRAFT_F64;
    a.memory = GRAFT_MEMORY_HOST;
    a.components = 1;
    a.n = static_cast<int64_t>(data.size());
    a.bytes = a.n * 8;
    return a;
}

TEST_F(Table, SizesOfTheTreeAreChosenAndTold) {
    expect_error(api->options_set(options, "tree.sizes", "guess"), GRAFT_ERROR_DECK_RANGE,
                 "fixed, model, trial");
    EXPECT_EQ(value("tree.sizes"), "fixed");
    ASSERT_EQ(api->options_set(options, "tree.sizes", "model"), GRAFT_OK) << api->last_error();
    ASSERT_EQ(api->options_set(options, "backend", "cpu"), GRAFT_OK);
    graft_context* context = nullptr;
    ASSERT_EQ(api->context_create(options, nullptr, &context), GRAFT_OK) << api->last_error();
    const size_t n = 4000;
    std::vector<double> x(n), y(n), z(n), m(n, 1.0), ax(n), ay(n), az(n);
    for (size_t i = 0; i < n; ++i) // even, without a generator
        x[i] = std::fmod(0.8191725 * static_cast<double>(i), 1),
        y[i] = std::fmod(0.6710436 * static_cast<double>(i), 1),
        z[i] = std::fmod(0.5497005 * static_cast<double>(i), 1);
    const graft_array vx = doubles(x), vy = doubles(y), vz = doubles(z), vm = doubles(m), fx = doubles(ax),
                      fy = doubles(ay), fz = doubles(az);
    graft_particles particles{};
    particles.struct_size = sizeof particles;
    particles.n = static_cast<int64_t>(n);
    particles.position[0] = &vx, particles.position[1] = &vy, particles.position[2] = &vz;
    particles.charge = &vm;
    graft_results results{};
    results.struct_size = sizeof results;
    results.acceleration[0] = &fx, results.acceleration[1] = &fy, results.acceleration[2] = &fz;
    double leaf = 0, seconds = 0;
    ASSERT_EQ(api->compute(context, &particles, &results), GRAFT_OK) << api->last_error();
    EXPECT_EQ(api->query(context, "sizes.leaf", &leaf), GRAFT_OK) << api->last_error();
    EXPECT_EQ(leaf, 64);
    expect_error(api->query(context, "sizes.predicted_s.total", &seconds), GRAFT_ERROR_ABSENT, "no figure");
    ASSERT_EQ(api->compute(context, &particles, &results), GRAFT_OK) << api->last_error();
    for (const char* key :
         {"sizes.predicted_s.sort", "sizes.predicted_s.tree", "sizes.predicted_s.moments",
          "sizes.predicted_s.lists", "sizes.predicted_s.forces", "sizes.predicted_s.total"}) {
        EXPECT_EQ(api->query(context, key, &seconds), GRAFT_OK) << api->last_error();
        EXPECT_GT(seconds, 0) << key;
    }
    const std::string by = support::text_of(api, context, "sizes.by");
    EXPECT_EQ(by.substr(0, 12), "by the model") << by;
    EXPECT_EQ(api->context_destroy(&context), GRAFT_OK);
}

/// study.buffer where nothing takes buffers: said when the engine is made, once all keys are known.
TEST_F(Table, BuffersThatNoKernelTakesDoNotMakeAContext) {
    graft_context* context = nullptr;
    const auto refused = [&](const char* why) {
        expect_error(api->context_create(options, nullptr, &context), GRAFT_ERROR_DECK_RANGE, why);
        EXPECT_EQ(context, nullptr);
    };
    ASSERT_EQ(api->options_set(options, "study.buffer", "-1"), GRAFT_OK);
    refused("key 'study.buffer': -1 has no effect with study.kernel 'auto'; expected pairs-1d or tiles-2d");
    for (const char* kernel : {"pairs-1d", "tiles-2d"}) {
        ASSERT_EQ(api->options_set(options, "study.kernel", kernel), GRAFT_OK);
        EXPECT_EQ(api->context_create(options, nullptr, &context), GRAFT_OK) << api->last_error();
        EXPECT_EQ(api->context_destroy(&context), GRAFT_OK);
    }
    ASSERT_EQ(api->options_set(options, "method", "direct"), GRAFT_OK);
    refused("no effect with method 'direct'; expected tree");
    ASSERT_EQ(api->options_set(options, "method", "tree"), GRAFT_OK);
    ASSERT_EQ(api->options_set(options, "backend", "cpu"), GRAFT_OK);
    refused("no effect with backend 'cpu'; expected auto or gpu");
    ASSERT_EQ(api->options_set(options, "study.buffer", "0"), GRAFT_OK);
    EXPECT_EQ(api->context_create(options, nullptr, &context), GRAFT_OK) << api->last_error();
    EXPECT_EQ(api->context_destroy(&context), GRAFT_OK);
}

TEST_F(Table, IncompleteUnitsDoNotMakeAContext) {
    graft_context* context = nullptr;
    EXPECT_EQ(api->options_set(options, "units.length", "kpc"), GRAFT_OK);
    expect_error(api->context_create(options, nullptr, &context), GRAFT_ERROR_DECK_KEY, "units.mass");
    EXPECT_EQ(context, nullptr);
    EXPECT_EQ(api->options_set(options, "units.mass", "Msun"), GRAFT_OK);
    EXPECT_EQ(api->options_set(options, "units.time", "Gyr"), GRAFT_OK);
    EXPECT_EQ(api->context_create(options, nullptr, &context), GRAFT_OK) << api->last_error();
    api->context_destroy(&context);
}

TEST_F(Table, ExplainIsTextJsonAndSchema) {
    std::string text, json, study, schema;
    EXPECT_EQ(api->options_explain(GRAFT_EXPLAIN_TEXT, append, &text), GRAFT_OK);
    EXPECT_EQ(api->options_explain(GRAFT_EXPLAIN_JSON, append, &json), GRAFT_OK);
    EXPECT_EQ(api->options_explain(GRAFT_EXPLAIN_JSON + GRAFT_EXPLAIN_STUDY, append, &study), GRAFT_OK);
    EXPECT_NE(text.find("softening.kind"), std::string::npos);
    EXPECT_EQ(json[0], '[');
    EXPECT_EQ((text + json).find("\nstudy."), std::string::npos);
    EXPECT_EQ(json.find("\"study."), std::string::npos);
    EXPECT_NE(study.find("\"study.kernel\""), std::string::npos);
    EXPECT_EQ(api->options_explain(GRAFT_EXPLAIN_SCHEMA, append, &schema), GRAFT_OK);
    EXPECT_NE(schema.find("json-schema.org"), std::string::npos);
    EXPECT_EQ(schema.find("\"study\""), std::string::npos);
    EXPECT_EQ(api->options_explain(GRAFT_EXPLAIN_SCHEMA + GRAFT_EXPLAIN_STUDY, append, &schema), GRAFT_OK);
    EXPECT_NE(schema.find("\"study\""), std::string::npos);
    for (int32_t format : {-1, 0, 4, 16, 16 + 4, 64})
        expect_error(api->options_explain(format, append, &text), GRAFT_ERROR_ARGUMENT, "format");
}

TEST_F(Table, ToolDeckChecksDecksAndOthersAreNamed) {
    std::string answer;
    EXPECT_EQ(api->run_tool("deck", "text: 'order: 1'", append, &answer), GRAFT_OK) << api->last_error();
    EXPECT_NE(answer.find("\"order\": \"1\""), std::string::npos) << answer;
    expect_error(api->run_tool("deck", "text: 'order: 13'", append, &answer), GRAFT_ERROR_DECK_RANGE,
                 "deck:1:8");
    expect_error(api->run_tool("deck", "colour: red", append, &answer), GRAFT_ERROR_ARGUMENT, "file or text");
    expect_error(api->run_tool("deck", "a: [", append, &answer), GRAFT_ERROR_DECK_SYNTAX, "arguments:");
    expect_error(api->run_tool("no such tool", nullptr, append, &answer), GRAFT_ERROR_ARGUMENT, ", deck");
    EXPECT_NE(std::string(api->last_error()).find("there is no tool 'no such tool'"), std::string::npos);
    expect_error(api->run_tool("bench", nullptr, append, &answer), GRAFT_ERROR_ARGUMENT, "study library");
}

// One object hammered by several threads: each call works or says BUSY, and the object survives.
TEST_F(Table, OneOptionsObjectInManyThreadsIsBusyNotBroken) {
    std::atomic<int> done{0}, busy{0}, wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 2000; ++i) {
                const int32_t status = api->options_set(options, "mac.theta", i % 2 ? "0.25" : "0.75");
                ++(status == GRAFT_OK ? done : status == GRAFT_ERROR_BUSY ? busy : wrong);
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(done + busy, 8000);
    EXPECT_GT(done, 0);
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(value("mac.theta") == "0.25" || value("mac.theta") == "0.75");
}

// A host that kept a second copy of the pointer: what it holds is no object any more, and nobody is "using" it.
TEST_F(Table, ADestroyedHandleIsSaidToBeOne) {
    graft_context* context = nullptr;
    ASSERT_EQ(api->context_create(options, nullptr, &context), GRAFT_OK);
    graft_context* copy = context;
    ASSERT_EQ(api->context_destroy(&context), GRAFT_OK);
    expect_error(api->context_set_box(copy, nullptr), GRAFT_ERROR_ARGUMENT, "was destroyed");
    expect_error(api->context_destroy(&copy), GRAFT_ERROR_ARGUMENT, "was destroyed");
    graft_options* more = nullptr;
    ASSERT_EQ(api->options_create(&more), GRAFT_OK);
    graft_options* more_copy = more;
    ASSERT_EQ(api->options_destroy(&more), GRAFT_OK);
    expect_error(api->options_set(more_copy, "order", "1"), GRAFT_ERROR_ARGUMENT, "were destroyed");
    expect_error(api->options_destroy(&more_copy), GRAFT_ERROR_ARGUMENT, "were destroyed");
    alignas(64) static unsigned char none[4096] = {};
    expect_error(api->context_set_box(reinterpret_cast<graft_context*>(none), nullptr), GRAFT_ERROR_ARGUMENT,
                 "never made");
}

} // namespace
