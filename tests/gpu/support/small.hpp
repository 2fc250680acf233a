// SPDX-License-Identifier: BSD-3-Clause
// Small inputs for compute-sanitizer, which takes 10 to 100 times as long: with GRAFT_TEST_SMALL set, tests
// take smaller sets, and one of several of their cases. Without it nothing changes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace graft::test {

inline bool small_inputs() {
    return std::getenv("GRAFT_TEST_SMALL") != nullptr;
}

inline int64_t test_size(int64_t usual, int64_t small) {
    return small_inputs() ? std::min(usual, small) : usual;
}

/// The cases of nested loops: all, or every `few`th. A number prime to the loops' lengths meets all values of
/// each.
class Cases {
  public:
    explicit Cases(int few) : few_(small_inputs() ? few : 1) {}
    bool skip() { return count_++ % few_ != 0; }

  private:
    int few_, count_ = 0;
};

} // namespace graft::test
