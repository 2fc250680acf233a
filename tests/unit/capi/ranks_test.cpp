// SPDX-License-Identifier: BSD-3-Clause
// Contexts on many ranks: setting the communicator, the same status everywhere, deadlines, poison.
#include "ranks.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

using namespace graft;
using namespace graft::test;

namespace {

/// The status of a plan that rank `rank` makes with these owners.
int32_t plan(graft_context* context, const std::vector<int32_t>& owner, int64_t* n_after) {
    const graft_array view = array_of(owner);
    return capi::migrate_plan(context, &view, n_after);
}

} // namespace

TEST(Ranks, CommunicatorsAreChecked) {
    Context context(options(settings::Method::tree));
    EXPECT_EQ(capi::context_set_communicator(nullptr, nullptr), GRAFT_ERROR_ARGUMENT);
    EXPECT_EQ(capi::context_set_communicator(context, nullptr), GRAFT_OK) << "NULL: alone";
    graft_comm_v1* comms[2] = {};
    EXPECT_EQ(capi::comm_create_threads(0, comms), GRAFT_ERROR_ARGUMENT);
    EXPECT_EQ(capi::comm_create_threads(5000, comms), GRAFT_ERROR_ARGUMENT);
    EXPECT_EQ(capi::comm_create_threads(1, nullptr), GRAFT_ERROR_ARGUMENT);
    ASSERT_EQ(capi::comm_create_threads(1, comms), GRAFT_OK);
    EXPECT_EQ(comms[0]->rank, 0);
    EXPECT_EQ(comms[0]->size, 1);
    EXPECT_EQ(capi::context_set_communicator(context, comms[0]), GRAFT_OK);
    graft_comm_v1 broken = *comms[0];
    broken.comm_barrier = nullptr;
    EXPECT_EQ(capi::context_set_communicator(context, &broken), GRAFT_ERROR_ARGUMENT);
    broken = *comms[0];
    broken.rank = 1;
    EXPECT_EQ(capi::context_set_communicator(context, &broken), GRAFT_ERROR_ARGUMENT);
    broken = *comms[0];
    broken.struct_size = 16;
    EXPECT_EQ(capi::context_set_communicator(context, &broken), GRAFT_ERROR_ABI);
    EXPECT_EQ(capi::context_set_communicator(context, nullptr), GRAFT_OK);
    comms[0]->comm_free(comms[0]);
}

TEST(Ranks, OneRankOfACommunicatorComputesAsAlone) {
    const Bodies b = plummer(500);
    Field alone(500), ranked(500);
    Context context(options(settings::Method::tree));
    Call first(b, alone), second(b, ranked);
    ASSERT_EQ(capi::compute(context, &first.particles, &first.results), GRAFT_OK);
    graft_comm_v1* comm = nullptr;
    ASSERT_EQ(capi::comm_create_threads(1, &comm), GRAFT_OK);
    ASSERT_EQ(capi::context_set_communicator(context, comm), GRAFT_OK);
    ASSERT_EQ(capi::compute(context, &second.particles, &second.results), GRAFT_OK) << capi::last_error();
    EXPECT_EQ(alone.ax, ranked.ax);
    double size = 0;
    EXPECT_EQ(capi::query(context, "comm.size", &size), GRAFT_OK);
    EXPECT_EQ(size, 1);
    EXPECT_EQ(capi::context_set_communicator(context, nullptr), GRAFT_OK);
    comm->comm_free(comm);
}

TEST(Ranks, DifferentOptionsAreRefusedOnAllRanks) {
    on_ranks(3, [](int rank, graft_comm_v1* table) {
        capi::Options o = options(settings::Method::tree);
        o.engine.threads = rank; // may differ
        Context context(o);
        ASSERT_EQ(capi::context_set_communicator(context, table), GRAFT_OK);
        int64_t n_after = -1;
        EXPECT_EQ(plan(context, {0, 1, 2}, &n_after), GRAFT_OK) << capi::last_error();
        o.asked.order = rank == 1 ? 3 : 2;
        Context other(o);
        ASSERT_EQ(capi::context_set_communicator(other, table), GRAFT_OK);
        EXPECT_EQ(plan(other, {0, 1, 2}, &n_after), GRAFT_ERROR_ARGUMENT);
        EXPECT_NE(std::string(capi::last_error()).find("different options"), std::string::npos);
        EXPECT_EQ(plan(context, {0, 1, 2}, &n_after), GRAFT_OK) << "not poisoned: " << capi::last_error();
    });
}

TEST(Ranks, DifferentFunctionsAreRefusedOnAllRanks) {
    on_contexts(3, options(settings::Method::tree), [](int rank, graft_context* context) {
        int64_t n_after = -1;
        ASSERT_EQ(plan(context, {0, 1, 2}, &n_after), GRAFT_OK) << capi::last_error();
        const int32_t status = rank == 1 ? capi::migrate_back(context, 0, nullptr, nullptr)
                                         : capi::migrate(context, 0, nullptr, nullptr);
        EXPECT_EQ(status, GRAFT_ERROR_CALL_ORDER);
        EXPECT_NE(std::string(capi::last_error()).find("different functions"), std::string::npos);
        EXPECT_EQ(plan(context, {0, 1, 2}, &n_after), GRAFT_OK) << "not poisoned: " << capi::last_error();
    });
}

TEST(Ranks, LiveKeysMustBeChangedOnAllRanksThatShareThem) {
    on_contexts(2, options(settings::Method::tree), [](int rank, graft_context* context) {
        const auto change = [&](double theta) {
            return capi::context_change(context, [&](capi::Options& o) { o.engine.theta = theta; });
        };
        int64_t n_after = -1;
        if (rank == 1) {
            ASSERT_EQ(change(0.5), GRAFT_OK);
        }
        EXPECT_EQ(plan(context, {0}, &n_after), GRAFT_ERROR_ARGUMENT);
        EXPECT_NE(std::string(capi::last_error()).find("different options"), std::string::npos);
        ASSERT_EQ(change(0.5), GRAFT_OK);
        EXPECT_EQ(plan(context, {0}, &n_after), GRAFT_OK) << capi::last_error();
        ASSERT_EQ(capi::context_change(context, [&](capi::Options& o) { o.engine.threads = 1 + rank; }), GRAFT_OK);
        EXPECT_EQ(plan(context, {0}, &n_after), GRAFT_OK) << "each rank's own: " << capi::last_error();
        graft_units units{};
        units.struct_size = sizeof units;
        units.constant = 3;
        if (rank == 0) {
            ASSERT_EQ(capi::context_set_units(context, &units), GRAFT_OK);
        }
        EXPECT_EQ(plan(context, {0}, &n_after), GRAFT_ERROR_ARGUMENT);
        ASSERT_EQ(capi::context_change(context, [](capi::Options& o) { o.engine.constant = 3; }), GRAFT_OK);
        EXPECT_EQ(plan(context, {0}, &n_after), GRAFT_OK) << "by whichever way: " << capi::last_error();
    });
}

TEST(Ranks, ADeadlineCountsFromWhenItIsSet) {
    on_contexts(2, options(settings::Method::tree), [](int rank, graft_context* context) {
        ASSERT_EQ(capi::context_change(context, [](capi::Options& o) { o.asked.deadline_s = 0.2; }), GRAFT_OK);
        int64_t n_after = -1;
        if (rank == 0) { // the other one does not come
            EXPECT_EQ(plan(context, {0}, &n_after), GRAFT_ERROR_COMMUNICATION);
            EXPECT_NE(std::string(capi::last_error()).find("waited 0.2 s"), std::string::npos) << capi::last_error();
        }
    });
}

TEST(Ranks, MinusZeroAndUnusedAxesOfABoxAreNoDifference) {
    capi::Options flat = options(settings::Method::tree);
    flat.engine.dimension = 2;
    on_contexts(2, flat, [](int rank, graft_context* context) {
        graft_box box{};
        box.struct_size = sizeof box;
        box.lower[0] = rank == 0 ? 0.0 : -0.0;
        box.upper[0] = box.upper[1] = 1;
        box.upper[2] = rank; // not read in two dimensions
        ASSERT_EQ(capi::context_set_box(context, &box), GRAFT_OK);
        int64_t n_after = -1;
        EXPECT_EQ(plan(context, {0}, &n_after), GRAFT_OK) << capi::last_error();
    });
}

TEST(Ranks, DifferentBoxesAreRefusedOnAllRanks) {
    on_contexts(2, options(settings::Method::tree), [](int rank, graft_context* context) {
        graft_box box{};
        box.struct_size = sizeof box;
        for (int a = 0; a < 3; ++a)
            box.upper[a] = 1 + rank;
        ASSERT_EQ(capi::context_set_box(context, &box), GRAFT_OK);
        int64_t n_after = -1;
        EXPECT_EQ(plan(context, {0}, &n_after), GRAFT_ERROR_ARGUMENT);
        box.upper[0] = box.upper[1] = box.upper[2] = 5;
        ASSERT_EQ(capi::context_set_box(context, &box), GRAFT_OK);
        EXPECT_EQ(plan(context, {0}, &n_after), GRAFT_OK) << capi::last_error();
    });
}

// A rank that never comes: the others end at the deadline, and from then on at once.
TEST(Ranks, ADeadlineEndsTheWaitAndPoisonsTheContext) {
    capi::Options o = options(settings::Method::tree);
    o.asked.deadline_s = 0.3;
    on_contexts(3, o, [](int rank, graft_context* context) {
        if (rank == 1)
            return;
        int64_t n_after = -5;
        const auto start = std::chrono::steady_clock::now();
        const auto elapsed_s = [&] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        };
        EXPECT_EQ(plan(context, {0}, &n_after), GRAFT_ERROR_COMMUNICATION);
        const double first_s = elapsed_s();
        EXPECT_GT(first_s, 0.1);
        EXPECT_LT(first_s, 20);
        EXPECT_EQ(plan(context, {0}, &n_after), GRAFT_ERROR_COMMUNICATION);
        EXPECT_LT(elapsed_s() - first_s, 0.25) << "at once: another deadline would be 0.3 s";
        Bodies b = plummer(10);
        Field f(10, 7.0);
        Call call(b, f);
        EXPECT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_ERROR_COMMUNICATION);
        EXPECT_EQ(f.ax, std::vector<double>(10, 7.0));
        EXPECT_EQ(n_after, -5);
        EXPECT_EQ(capi::context_set_communicator(context, nullptr), GRAFT_OK) << "alone again, and well";
        EXPECT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
    });
}

// Forces: what is wrong on one rank is every rank's failure, and the context computes again afterwards.
TEST(Ranks, BadInputOfForcesOnOneRankIsEveryRanksFailure) {
    const Bodies all = plummer(300);
    for (int bad = 0; bad < 3; ++bad)
        on_contexts(3, options(settings::Method::tree), [&](int rank, graft_context* context) {
            const bool guilty = rank == bad;
            Bodies mine = share_of(all, rank, 3);
            Field field(100, 7.0);
            Call call(mine, field);
            graft_results at_points = call.results;
            at_points.virial = at_points.energy = nullptr;
            const graft_particles* p = &call.particles;
            const std::string name = "rank " + std::to_string(bad) + ":";
            const auto expect = [&](int32_t status, int32_t expected, const char* text) {
                EXPECT_EQ(status, expected) << text << ": " << capi::last_error();
                EXPECT_EQ(std::string(capi::last_error()).substr(0, name.size()), name) << capi::last_error();
                EXPECT_EQ(field.ax, std::vector<double>(100, 7.0)) << text;
            };
            const auto both = [&](int32_t expected, const char* text) {
                expect(capi::compute(context, p, &call.results), expected, text);
                expect(capi::field_at(context, p, &call.particles, &at_points), expected, text);
            };
            p = guilty ? nullptr : p;
            both(GRAFT_ERROR_ARGUMENT, "NULL particles");
            p = &call.particles;
            expect(capi::compute(context, p, guilty ? nullptr : &call.results), GRAFT_ERROR_ARGUMENT,
                   "results");
            expect(capi::field_at(context, p, guilty ? nullptr : p, &at_points), GRAFT_ERROR_ARGUMENT,
                   "points");
            call.particles.flags = guilty ? 1 : 0;
            both(GRAFT_ERROR_ABI, "flags");
            call.particles.flags = 0;
            call.particles.reserved[1] = guilty ? 1 : 0;
            both(GRAFT_ERROR_ABI, "reserved");
            call.particles.reserved[1] = 0;
            call.particles.n = guilty ? -1 : 100;
            both(GRAFT_ERROR_ARGUMENT, "n = -1");
            call.particles.n = 100;
            call.arrays[1].bytes = guilty ? 8 : 800;
            both(GRAFT_ERROR_ARRAY, "too few bytes");
            call.arrays[1].bytes = 800;
            mine.z[99] = guilty ? NAN : 0;
            both(GRAFT_ERROR_VALUE, "NaN");
            mine.z[99] = 0;
            std::vector<float> cost(100, 1);
            graft_array cost_view = array_of(cost.data(), GRAFT_F32, 100);
            cost_view.dtype = guilty ? GRAFT_I32 : GRAFT_F32;
            call.particles.cost = &cost_view;
            both(GRAFT_ERROR_ARRAY, "costs that are no reals");
            call.particles.cost = nullptr;
            EXPECT_EQ(capi::compute(context, p, &call.results), GRAFT_OK) << capi::last_error();
        });
}
