// SPDX-License-Identifier: BSD-3-Clause
// The entries for many ranks through the table of the built library: NULLs, structs and communicators of other
// sizes, ranks.
#include "graft_loader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

class RanksTable : public testing::Test {
  protected:
    void SetUp() override {
        char message[1024];
        ASSERT_EQ(graft_load(GRAFT_REAL, &api, message, sizeof message), GRAFT_OK) << message;
        ASSERT_EQ(api->options_create(&options), GRAFT_OK);
        ASSERT_EQ(api->options_set(options, "balance.cost", "count"), GRAFT_OK);
        ASSERT_EQ(api->context_create(options, nullptr, &context), GRAFT_OK) << api->last_error();
        particles.known.struct_size = sizeof particles.known;
        particles.known.n = 2;
        particles.known.position[0] = &position;
    }
    void TearDown() override {
        if (api == nullptr)
            return;
        api->context_destroy(&context);
        api->options_destroy(&options);
    }
    static graft_array view(void* data, int32_t dtype, int32_t components, int64_t n) {
        graft_array a{};
        a.struct_size = sizeof a;
        a.data = data;
        a.dtype = dtype;
        a.memory = GRAFT_MEMORY_HOST;
        a.components = components;
        a.n = n;
        a.bytes = n * components * (dtype == GRAFT_F64 || dtype == GRAFT_I64 ? 8 : 4);
        return a;
    }
    void expect_error(int32_t status, int32_t expected, const char* words) {
        EXPECT_EQ(status, expected) << api->last_error();
        EXPECT_NE(std::string(api->last_error()).find(words), std::string::npos) << api->last_error();
    }
    /// A struct as a newer header would have it.
    template <typename T>
    struct Newer {
        T known{};
        uint64_t newer[4] = {};
    };
    /// What every versioned struct owes: sizes, tails, flags and reserved words.
    template <typename T, typename Call>
    void check_versions(Newer<T>& s, Call&& call) {
        s.known.struct_size = sizeof s.known;
        EXPECT_EQ(call(), GRAFT_OK) << api->last_error();
        s.known.struct_size = 0;
        expect_error(call(), GRAFT_ERROR_ABI, "struct_size is 0");
        s.known.struct_size = 1u << 30;
        expect_error(call(), GRAFT_ERROR_ABI, "struct_size");
        s.known.struct_size = sizeof s;
        EXPECT_EQ(call(), GRAFT_OK) << "a newer host that uses nothing newer: " << api->last_error();
        s.newer[3] = 1;
        expect_error(call(), GRAFT_ERROR_ABI, "knows only");
        s.newer[3] = 0;
        for (uint64_t& word : s.known.reserved) {
            word = 1;
            expect_error(call(), GRAFT_ERROR_ABI, "reserved");
            word = 0;
        }
        s.known.flags = 1;
        expect_error(call(), GRAFT_ERROR_ABI, "flags");
        s.known.flags = 0;
        EXPECT_EQ(call(), GRAFT_OK) << api->last_error();
    }

    const graft_api_v1* api = nullptr;
    graft_options* options = nullptr;
    graft_context* context = nullptr;
    double x[6] = {-1, 0, 0, 1, 0, 0};
    int32_t owner[2] = {-1, -1};
    graft_array position = view(x, GRAFT_F64, 3, 2), owners = view(owner, GRAFT_I32, 1, 2);
    Newer<graft_particles> particles;
};

TEST_F(RanksTable, NullContextsAreRefused) {
    graft_decomposition decomposition{};
    graft_balancing balancing{};
    graft_objects objects{};
    int64_t n_after = 0;
    const graft_particles* p = &particles.known;
    expect_error(api->context_set_communicator(nullptr, nullptr), GRAFT_ERROR_ARGUMENT, "context is NULL");
    expect_error(api->decompose(nullptr, p, &decomposition), GRAFT_ERROR_ARGUMENT, "context is NULL");
    expect_error(api->owner_of(nullptr, p, &owners), GRAFT_ERROR_ARGUMENT, "context is NULL");
    expect_error(api->balance(nullptr, p, &balancing), GRAFT_ERROR_ARGUMENT, "context is NULL");
    expect_error(api->balance_objects(nullptr, &objects), GRAFT_ERROR_ARGUMENT, "context is NULL");
    expect_error(api->migrate_plan(nullptr, &owners, &n_after), GRAFT_ERROR_ARGUMENT, "context is NULL");
    expect_error(api->migrate(nullptr, 0, nullptr, nullptr), GRAFT_ERROR_ARGUMENT, "context is NULL");
    expect_error(api->migrate_back(nullptr, 0, nullptr, nullptr), GRAFT_ERROR_ARGUMENT, "context is NULL");
    expect_error(api->comm_create_threads(1, nullptr), GRAFT_ERROR_ARGUMENT, "comms is NULL");
}

TEST_F(RanksTable, StructsOfOtherVersions) {
    Newer<graft_decomposition> decomposition;
    decomposition.known.owner = &owners;
    check_versions(decomposition,
                   [&] { return api->decompose(context, &particles.known, &decomposition.known); });
    check_versions(particles,
                   [&] { return api->decompose(context, &particles.known, &decomposition.known); });
    Newer<graft_balancing> balancing;
    balancing.known.owner = &owners;
    check_versions(balancing, [&] { return api->balance(context, &particles.known, &balancing.known); });
    Newer<graft_objects> objects;
    objects.known.n = 2;
    objects.known.position[0] = &position;
    objects.known.owner = &owners;
    check_versions(objects, [&] { return api->balance_objects(context, &objects.known); });
}

/// A table as a host of another day makes it: the first version's, or a larger one.
TEST_F(RanksTable, CommunicatorsOfOtherSizes) {
    graft_comm_v1* comms[1] = {};
    ASSERT_EQ(api->comm_create_threads(1, comms), GRAFT_OK) << api->last_error();
    Newer<graft_comm_v1> table;
    table.known = *comms[0];
    graft_decomposition decomposition{};
    decomposition.struct_size = sizeof decomposition;
    decomposition.owner = &owners;
    const auto taken = [&](uint32_t size) {
        table.known.struct_size = size;
        owner[1] = -1;
        return api->context_set_communicator(context, &table.known) == GRAFT_OK &&
               api->decompose(context, &particles.known, &decomposition) == GRAFT_OK && owner[1] == 0;
    };
    const uint32_t first = sizeof(graft_comm_v1);
    EXPECT_TRUE(taken(first)) << api->last_error();
    EXPECT_TRUE(taken(first + 8)) << api->last_error();
    EXPECT_TRUE(taken(sizeof table)) << api->last_error();
    for (uint64_t& word : table.newer)
        word = 0x1234567800000000u; // members of a later version, which this library does not call
    EXPECT_TRUE(taken(sizeof table)) << api->last_error();
    for (uint32_t size : {0u, 8u, 64u, first - 8, first - 1, first + 1, first + 4, first + 9}) {
        table.known.struct_size = size;
        expect_error(api->context_set_communicator(context, &table.known), GRAFT_ERROR_ABI, "struct_size");
    }
    table.known.struct_size = first;
    table.known.flags = 1u << 31;
    expect_error(api->context_set_communicator(context, &table.known), GRAFT_ERROR_ABI, "flags");
    table.known.flags = comms[0]->flags;
    table.known.comm_error_text = nullptr; // what may be NULL
    table.known.comm_set_deadline = nullptr;
    table.known.comm_fail = nullptr;
    table.known.comm_time_s = nullptr;
    table.known.comm_failed_call = nullptr;
    EXPECT_TRUE(taken(first)) << api->last_error();
    table.known.comm_split = nullptr;
    expect_error(api->context_set_communicator(context, &table.known), GRAFT_ERROR_ARGUMENT, "comm_split");
    ASSERT_EQ(api->context_set_communicator(context, nullptr), GRAFT_OK);
    comms[0]->comm_free(comms[0]);
}

TEST_F(RanksTable, TwoBodiesOnTwoRanks) {
    graft_comm_v1* comms[2] = {};
    ASSERT_EQ(api->comm_create_threads(2, comms), GRAFT_OK) << api->last_error();
    double a[2][3] = {};
    int32_t status[2] = {-1, -1};
    std::vector<std::thread> threads;
    for (int r = 0; r < 2; ++r)
        threads.emplace_back([&, r] {
            graft_options* own = nullptr; // options are used by one thread at a time, too
            graft_context* mine = nullptr;
            graft_array where = view(x + 3 * r, GRAFT_F64, 3, 1), pull = view(a[r], GRAFT_F64, 3, 1);
            graft_particles p{};
            graft_results results{};
            p.struct_size = sizeof p;
            p.n = 1;
            p.position[0] = &where;
            p.charge_all = 1 + r;
            results.struct_size = sizeof results;
            results.acceleration[0] = &pull;
            if (api->options_create(&own) == GRAFT_OK &&
                api->options_set(own, "comm.deadline_s", "30") == GRAFT_OK &&
                api->context_create(own, nullptr, &mine) == GRAFT_OK &&
                api->context_set_communicator(mine, comms[r]) == GRAFT_OK)
                status[r] = api->compute(mine, &p, &results);
            api->context_destroy(&mine);
            api->options_destroy(&own);
        });
    for (std::thread& thread : threads)
        thread.join();
    for (graft_comm_v1* comm : comms)
        comm->comm_free(comm);
    EXPECT_EQ(status[0], GRAFT_OK);
    EXPECT_EQ(status[1], GRAFT_OK);
    EXPECT_NEAR(a[0][0], 2.0 / 4, 1e-6);
    EXPECT_NEAR(a[1][0], -1.0 / 4, 1e-6);
}

} // namespace
