// SPDX-License-Identifier: BSD-3-Clause
// migrate_plan, migrate and migrate_back over in-process ranks: nothing lost, nothing doubled, any layout.
#include "ranks.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

using namespace graft;
using namespace graft::test;

namespace {

/// A host's particle struct, as awkward as they come.
struct Star {
    float mass;
    int64_t id;
    double position[3];
    char colour[4];
};

std::vector<Star> stars_of(int rank, int n) {
    std::vector<Star> stars(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) {
        Star& s = stars[static_cast<size_t>(i)];
        s = Star{};
        s.id = 1000 * rank + i;
        s.mass = static_cast<float>(s.id) / 3;
        for (int a = 0; a < 3; ++a)
            s.position[a] = static_cast<double>(s.id) + 0.1 * a;
    }
    return stars;
}

/// id, mass and position of an array of structs.
struct Fields {
    explicit Fields(std::vector<Star>& stars) {
        const auto n = static_cast<int64_t>(stars.size());
        const int64_t stride = sizeof(Star), bytes = n * stride;
        Star* s = stars.data();
        const auto field = [&](const void* at, int32_t dtype, int32_t components) {
            const int64_t offset = n > 0 ? static_cast<const char*>(at) - reinterpret_cast<char*>(s) : 0;
            return array_of(at, dtype, n, components, stride, bytes - offset);
        };
        arrays[0] = field(n > 0 ? &s->id : nullptr, GRAFT_I64, 1);
        arrays[1] = field(n > 0 ? &s->mass : nullptr, GRAFT_F32, 1);
        arrays[2] = field(n > 0 ? s->position : nullptr, GRAFT_F64, 3);
    }
    graft_array arrays[3];
    const graft_array* pointers[3] = {&arrays[0], &arrays[1], &arrays[2]};
};

} // namespace

TEST(Migrate, StructsTravelTogetherAndComeHome) {
    constexpr int size = 4;
    on_contexts(size, options(settings::Method::tree), [](int rank, graft_context* context) {
        const int n = rank == 2 ? 0 : 100 + rank; // a rank may have nothing
        std::vector<Star> before = stars_of(rank, n), home = before;
        std::vector<int64_t> owner(static_cast<size_t>(n));
        for (int i = 0; i < n; ++i)
            owner[static_cast<size_t>(i)] =
                (before[static_cast<size_t>(i)].id * 7) % 3; // rank 3 gets nothing
        const graft_array owners = array_of(owner.data(), GRAFT_I64, n);
        int64_t n_after = -1;
        ASSERT_EQ(capi::migrate_plan(context, &owners, &n_after), GRAFT_OK) << capi::last_error();
        EXPECT_EQ(n_after == 0, rank == 3);
        std::vector<Star> after(static_cast<size_t>(n_after));
        Fields from(before), to(after);
        ASSERT_EQ(capi::migrate(context, 3, from.pointers, to.pointers), GRAFT_OK) << capi::last_error();
        int64_t last = -1;
        for (const Star& s : after) {
            EXPECT_EQ((s.id * 7) % 3, rank);
            EXPECT_GT(s.id, last) << "sorted by the rank they came from, then by index";
            last = s.id;
            EXPECT_EQ(s.mass, static_cast<float>(s.id) / 3);
            EXPECT_EQ(s.position[2], static_cast<double>(s.id) + 0.1 * 2);
        }
        for (Star& s : home)
            s = Star{};
        Fields back(home);
        ASSERT_EQ(capi::migrate_back(context, 3, to.pointers, back.pointers), GRAFT_OK) << capi::last_error();
        for (size_t i = 0; i < home.size(); ++i)
            EXPECT_TRUE(home[i].id == before[i].id && home[i].mass == before[i].mass &&
                        std::memcmp(home[i].position, before[i].position, sizeof home[i].position) == 0);
        double moved = -1, count = -1;
        EXPECT_EQ(capi::query(context, "migrate.items_moved", &moved), GRAFT_OK);
        EXPECT_EQ(capi::query(context, "migrate.count_after", &count), GRAFT_OK);
        EXPECT_EQ(count, static_cast<double>(n_after));
        EXPECT_LE(moved, n);
    });
}

TEST(Migrate, BadInputOnOneRankIsEveryRanksFailure) {
    for (int bad = 0; bad < 3; ++bad)
        on_contexts(3, options(settings::Method::tree), [bad](int rank, graft_context* context) {
            const bool guilty = rank == bad;
            const std::string name = "rank " + std::to_string(bad) + ": ";
            const auto expect = [&](int32_t status, int32_t expected) {
                EXPECT_EQ(status, expected) << capi::last_error();
                EXPECT_EQ(std::string(capi::last_error()).substr(0, name.size()), name) << capi::last_error();
            };
            std::vector<int32_t> owner = {0, 1, 2};
            graft_array view = array_of(owner);
            const graft_array* fields[1] = {&view};
            int64_t n_after = -9;
            EXPECT_EQ(capi::migrate(context, 1, fields, fields), GRAFT_ERROR_CALL_ORDER);
            expect(capi::migrate_plan(context, guilty ? nullptr : &view, &n_after), GRAFT_ERROR_ARGUMENT);
            expect(capi::migrate_plan(context, &view, guilty ? nullptr : &n_after), GRAFT_ERROR_ARGUMENT);
            graft_array wrong = view;
            wrong.dtype = guilty ? GRAFT_F64 : GRAFT_I32;
            expect(capi::migrate_plan(context, &wrong, &n_after), GRAFT_ERROR_ARRAY);
            wrong = view;
            wrong.flags = guilty ? GRAFT_ARRAY_INDEX_FROM_1 : 0;
            expect(capi::migrate_plan(context, &wrong, &n_after), GRAFT_ERROR_ARRAY);
            wrong = view;
            wrong.flags = guilty ? 64 : 0;
            expect(capi::migrate_plan(context, &wrong, &n_after), GRAFT_ERROR_ABI);
            owner[2] = guilty ? 3 : 2;
            expect(capi::migrate_plan(context, &view, &n_after), GRAFT_ERROR_VALUE);
            owner[2] = 2;
            EXPECT_EQ(n_after, -9);
            ASSERT_EQ(capi::migrate_plan(context, &view, &n_after), GRAFT_OK) << capi::last_error();
            ASSERT_EQ(n_after, 3);
            std::vector<int32_t> values = {10 * rank, 10 * rank + 1, 10 * rank + 2}, out(3, -1), few(2);
            graft_array from = array_of(values), to = array_of(out), small = array_of(few);
            const graft_array *source[1] = {&from}, *target[1] = {&to}, *too_small[1] = {&small};
            const graft_array* none[1] = {nullptr};
            expect(capi::migrate(context, 1, source, guilty ? too_small : target), GRAFT_ERROR_ARRAY);
            expect(capi::migrate(context, 1, source, guilty ? none : target), GRAFT_ERROR_ARGUMENT);
            expect(capi::migrate(context, 1, guilty ? nullptr : source, target), GRAFT_ERROR_ARGUMENT);
            expect(capi::migrate(context, guilty ? -1 : 1, source, target), GRAFT_ERROR_ARGUMENT);
            EXPECT_EQ(capi::migrate(context, guilty ? 0 : 1, source, target), GRAFT_ERROR_ARGUMENT)
                << "different numbers of fields";
            EXPECT_EQ(out, std::vector<int32_t>(3, -1));
            EXPECT_EQ(capi::migrate(context, 1, source, target), GRAFT_OK) << capi::last_error();
            EXPECT_EQ(out, (std::vector<int32_t>{rank, 10 + rank, 20 + rank}));
        });
}
