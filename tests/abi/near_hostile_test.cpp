// SPDX-License-Identifier: BSD-3-Clause
// The near-field entries called as a host that means no good might: arrays that claim what they have not,
// axes left out, a table at an odd address, a child after fork.
#include "near_table.hpp"

#include <algorithm>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

using graft::test::NearTable;
using graft::test::view;

TEST_F(NearTable, ArraysWithoutItemsMayClaimAnyComponents) {
    offset = {0, 0, 0};
    const auto without = [&] {
        field.target_count = 0;
        place.n = q.n = phi.n = 0;
    };
    without();
    create();
    std::vector<graft_array> many(16);
    const auto claim = [&](int32_t components) {
        describe(), without();
        q.components = components, q.component_stride = std::numeric_limits<int64_t>::max();
        many.assign(many.size(), q);
        std::transform(many.begin(), many.end(), sums.charge, [](graft_array& one) { return &one; });
    };
    claim(std::numeric_limits<int32_t>::max());
    expect_error(api->near_field_execute(context, plan, &sums), GRAFT_ERROR_ARGUMENT,
                 "34359738352 components in all; expected 1");
    claim(3);
    expect_error(api->near_field_execute(context, plan, &sums), GRAFT_ERROR_ARGUMENT, "48 components in all");
}

TEST_F(NearTable, AxesHaveNoGaps) {
    refused([&] { field.source_position[1] = &place; }, GRAFT_ERROR_ARGUMENT,
            "source_position[1] is given, but near_field.source_position[0] is NULL");
    refused([&] { field.target_position[2] = &place; }, GRAFT_ERROR_ARGUMENT,
            "target_position[2] is given, but near_field.target_position[1] is NULL");
    field.dimension = 2; // z is not read
    field.target_position[2] = &place;
    create();
}

/// The threads of the parent are not there: the child's sums are made by one, by old and new plans.
TEST_F(NearTable, AChildAfterForkSumsAlone) {
    ASSERT_EQ(api->options_set(options, "threads", "2"), GRAFT_OK);
    ASSERT_EQ(api->context_destroy(&context), GRAFT_OK);
    ASSERT_EQ(api->context_create(options, nullptr, &context), GRAFT_OK) << api->last_error();
    create();
    ASSERT_EQ(api->near_field_execute(context, plan, &sums), GRAFT_OK) << api->last_error();
    const std::vector<double> expected = potential;
    const pid_t child = fork();
    if (child == 0) {
        alarm(20); // one that waits for ever dies
        const auto same = [&](graft_near_plan* by) {
            potential.assign(4, 0);
            return api->near_field_execute(context, by, &sums) == GRAFT_OK && potential == expected;
        };
        graft_near_plan* another = nullptr;
        const bool good = same(plan) && api->near_field_update(context, plan, &field) == GRAFT_OK &&
                          api->near_field_create(context, &field, &another) == GRAFT_OK && same(another);
        _exit(good ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
    EXPECT_EQ(api->near_field_execute(context, plan, &sums), GRAFT_OK) << api->last_error();
}

/// Two packed floats a knot, behind one byte.
TEST_F(NearTable, ATableMayStandAtAnyAddress) {
    const std::vector<float> knots{1, 0, 1, 0, 1, 0, 1, 0};
    std::vector<char> bytes(1 + knots.size() * sizeof(float));
    std::memcpy(bytes.data() + 1, knots.data(), knots.size() * sizeof(float));
    graft_array table = view(const_cast<std::vector<float>&>(knots), 2);
    table.data = bytes.data() + 1;
    field.kernel = GRAFT_NEAR_TABLE;
    field.table = &table, field.table_step = 10;
    create();
    ASSERT_EQ(api->near_field_execute(context, plan, &sums), GRAFT_OK) << api->last_error();
    for (size_t i = 0; i < 4; ++i)
        EXPECT_NEAR(potential[i], 7 - charge[i], 1e-14); // f is 1 everywhere
}
