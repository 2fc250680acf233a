// SPDX-License-Identifier: BSD-3-Clause
// thuering2023's construction in two phases against the level-by-level one: the same tree, bit for bit.
#include "tree_checks.hpp"

#include "core/error.hpp"
#include "geometry/morton.hpp"

namespace graft::tree {
namespace {

using namespace testing;

TreeOptions two_phase(TreeOptions options, int depth) {
    options.two_phase = true, options.top_depth = depth;
    return options;
}

class TwoPhase : public ::testing::TestWithParam<std::tuple<int, int>> {
  protected:
    TreeOptions options() const {
        TreeOptions options;
        options.dimension = std::get<0>(GetParam());
        options.leaf = std::get<1>(GetParam());
        return options;
    }
};

TEST_P(TwoPhase, makes_the_same_tree_at_every_depth) {
    for (const Named& named : awkward_clouds()) {
        SCOPED_TRACE(named.name);
        const Built levels(named.cloud, options());
        for (int depth = 1; depth <= 9; ++depth) {
            SCOPED_TRACE(depth);
            const Built built(named.cloud, two_phase(options(), depth), 1 + depth % 4);
            expect_same_tree(levels.tree, built.tree);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, TwoPhase,
                         ::testing::Combine(::testing::Values(2, 3), ::testing::Values(1, 8, 32)));

TEST(TwoPhaseTree, has_a_second_phase) {
    const Cloud cloud = ball(20000);
    const Built built(cloud, two_phase({}, 2), 2);
    EXPECT_GT(built.times.top_s, 0);
    EXPECT_GT(built.times.subtrees_s, 0);
    EXPECT_LE(built.times.top_s + built.times.subtrees_s, built.times.tree_s);
    check_tree(built.tree, cloud);
    EXPECT_EQ(Built(cloud, TreeOptions{}).times.subtrees_s, 0);
}

TEST(TwoPhaseTree, makes_forests_of_key_ranges) {
    const Cloud cloud = ball(5000);
    TreeOptions options;
    options.has_root = options.has_range = true;
    for (int axis = 0; axis < 3; ++axis)
        options.root_lower[axis] = -2;
    options.root_edge = 4;
    options.key_begin = 0, options.key_end = (uint64_t{1} << 63) - 12345;
    const Built levels(cloud, options);
    ASSERT_GT(levels.tree.root_count(), 1);
    for (const int depth : {1, 3})
        expect_same_tree(levels.tree, Built(cloud, two_phase(options, depth), 3).tree);
}

TEST(TwoPhaseTree, the_builder_may_change_its_way) {
    core::Memory memory;
    TreeBuilder builder(memory);
    Tree tree(memory);
    BuildTimes times;
    for (const int64_t n : {30000, 500, 0, 30000})
        for (const int depth : {0, 2, 4}) { // 0: by levels
            const Cloud cloud = ball(n, 4);
            builder.build({memory, 2}, depth > 0 ? two_phase({}, depth) : TreeOptions{}, cloud.view(), tree,
                          times);
            expect_same_tree(Built(cloud, TreeOptions{}).tree, tree);
        }
}

TEST(TwoPhaseTree, refuses_a_top_without_levels) {
    EXPECT_THROW(Built(ball(10), two_phase({}, 0)), core::Error);
}

} // namespace
} // namespace graft::tree
