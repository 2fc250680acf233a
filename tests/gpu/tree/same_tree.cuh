// SPDX-License-Identifier: BSD-3-Clause
// Two trees, byte for byte.
#pragma once

#include "tree/tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace graft::test {

/// Names the first item that differs.
template <typename T>
void expect_same(const core::Buffer<T>& found, const core::Buffer<T>& expected, const char* what) {
    ASSERT_EQ(found.size(), expected.size()) << what;
    for (int64_t i = 0; i < found.size(); ++i)
        ASSERT_EQ(std::memcmp(&found[i], &expected[i], sizeof(T)), 0) << what << "[" << i << "]";
}

inline void expect_same_nodes(const core::Buffer<tree::Node>& found,
                              const core::Buffer<tree::Node>& expected) {
    for (int64_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
        const tree::Node &a = found[i], &b = expected[i];
        ASSERT_EQ(a.first, b.first) << "node " << i;
        ASSERT_EQ(a.count, b.count) << "node " << i;
        ASSERT_EQ(a.level, b.level) << "node " << i;
        ASSERT_EQ(a.parent, b.parent) << "node " << i;
        ASSERT_EQ(a.first_child, b.first_child) << "node " << i;
        ASSERT_EQ(a.child_count, b.child_count) << "node " << i;
    }
    ASSERT_EQ(found.size(), expected.size());
}

inline void expect_same_tree(const tree::Tree& found, const tree::Tree& expected) {
    for (int a = 0; a < 3; ++a)
        ASSERT_EQ(found.root_lower[a], expected.root_lower[a]); // the sign of a zero does not matter here
    ASSERT_EQ(found.root_edge, expected.root_edge);
    expect_same(found.order, expected.order, "order");
    expect_same(found.keys, expected.keys, "keys");
    expect_same(found.x, expected.x, "x");
    expect_same(found.y, expected.y, "y");
    expect_same(found.z, expected.z, "z");
    expect_same(found.charge, expected.charge, "charge");
    expect_same(found.softening, expected.softening, "softening");
    expect_same_nodes(found.nodes, expected.nodes);
    expect_same(found.level_offset, expected.level_offset, "level_offset");
    expect_same(found.edges, expected.edges, "edges");
    expect_same(found.boxes, expected.boxes, "boxes");
    expect_same(found.root_keys, expected.root_keys, "root_keys");
    expect_same(found.root_levels, expected.root_levels, "root_levels");
}

} // namespace graft::test
