// Tests in a process of their own: what they do to a device's contexts, the next test must not see.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

namespace graft::test {

/// Passes where `body` has no failure in a process that begins with it. The test's suite ends in DeathTest.
template <typename Body>
void in_own_process(Body&& body) {
    testing::FLAGS_gtest_death_test_style = "threadsafe"; // starts anew instead of going on in a fork
    EXPECT_EXIT(
        {
            body();
            std::exit(testing::Test::HasFailure() ? 1 : 0);
        },
        testing::ExitedWithCode(0), "");
}

} // namespace graft::test
