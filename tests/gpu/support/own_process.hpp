// SPDX-License-Identifier: BSD-3-Clause
// Tests in a process of their own: what they do to a device's contexts, the next test must not see.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace graft::test {

/// What has failed so far, to the standard error, which the process that waits for this one prints.
inline void say_failures() {
    const testing::TestResult& result = *testing::UnitTest::GetInstance()->current_test_info()->result();
    for (int k = 0; k < result.total_part_count(); ++k)
        if (const testing::TestPartResult& part = result.GetTestPartResult(k); part.failed())
            std::fprintf(stderr, "line %d: %s\n", part.line_number(), part.message());
}

/// Passes where `body` has no failure in a process that begins with it. The test's suite ends in DeathTest.
template <typename Body>
void in_own_process(Body&& body) {
    testing::FLAGS_gtest_death_test_style = "threadsafe"; // starts anew instead of going on in a fork
    EXPECT_EXIT(
        {
            body();
            say_failures();
            std::exit(testing::Test::HasFailure() ? 1 : 0);
        },
        testing::ExitedWithCode(0), "");
}

} // namespace graft::test
