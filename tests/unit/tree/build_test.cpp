// SPDX-License-Identifier: BSD-3-Clause
// Both trees against brute force: invariants on awkward shapes, the same bits for any thread count, bounded
// cost.
#include "tree_checks.hpp"

#include "core/error.hpp"
#include "core/timer.hpp"
#include "tree/build_steps.hpp"

namespace graft::tree {
namespace {

using namespace testing;

class EveryTree : public ::testing::TestWithParam<std::tuple<TreeType, int, int>> {
  protected:
    TreeOptions options() const {
        TreeOptions options;
        options.type = std::get<0>(GetParam());
        options.dimension = std::get<1>(GetParam());
        options.leaf = std::get<2>(GetParam());
        return options;
    }
};

TEST_P(EveryTree, keeps_its_invariants) {
    for (const Named& named : awkward_clouds()) {
        SCOPED_TRACE(named.name);
        SCOPED_TRACE(named.cloud.size());
        const Built built(named.cloud, options());
        check_tree(built.tree, named.cloud);
    }
}

TEST_P(EveryTree, is_the_same_for_any_number_of_threads) {
    for (const Named& named : awkward_clouds()) {
        SCOPED_TRACE(named.name);
        const Built one(named.cloud, options());
        for (int threads : {2, 3, 7})
            expect_same_tree(one.tree, Built(named.cloud, options(), threads).tree);
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, EveryTree,
                         ::testing::Combine(::testing::Values(TreeType::octree, TreeType::orb),
                                            ::testing::Values(2, 3), ::testing::Values(1, 8, 32)));

class EitherTree : public ::testing::TestWithParam<TreeType> {
  protected:
    TreeOptions options() const {
        TreeOptions options;
        options.type = GetParam();
        return options;
    }
};

TEST_P(EitherTree, a_second_build_allocates_nothing) {
    const Cloud cloud = ball(30000), other = ball(30000, 9), far = awkward_clouds()[12].cloud;
    core::Memory memory;
    TreeBuilder builder(memory);
    Tree tree(memory);
    BuildTimes times;
    int64_t before = 0;
    for (const Cloud* now : {&cloud, &far, &other, &cloud, &far}) {
        if (now == &other)
            before = memory.allocations();
        builder.build({memory, 2}, options(), now->view(), tree, times);
    }
    EXPECT_EQ(memory.allocations(), before);
}

TEST_P(EitherTree, builds_a_million_points_on_ten_places_fast) {
    Cloud cloud;
    for (int i = 0; i < 1000000; ++i)
        cloud.add(i % 10 * 0.1, (i % 10) * (i % 10) * 0.3, i % 10 % 3);
    core::Timer timer;
    const Built built(cloud, options());
    EXPECT_LT(timer.seconds(), 5);
    int leaves = 0;
    for (int32_t i = 0; i < built.tree.node_count(); ++i)
        if (built.tree.is_leaf(i)) {
            ++leaves;
            EXPECT_TRUE(built.tree.is_point(i));
        }
    // ORB cuts at counts, so a place may be parted over neighbouring leaves
    EXPECT_GE(leaves, 10);
    EXPECT_LE(leaves, GetParam() == TreeType::octree ? 10 : 200);
}

TEST_P(EitherTree, refuses_what_it_cannot_do) {
    const Cloud cloud = ball(10);
    const auto status_of = [&](TreeOptions wrong, ParticleView view) {
        core::Memory memory;
        Tree tree(memory);
        BuildTimes times;
        try {
            TreeBuilder(memory).build({memory, 1}, wrong, view, tree, times);
        } catch (const core::Error& error) {
            return error.status();
        }
        return core::Status::ok;
    };
    TreeOptions wrong = options();
    wrong.leaf = 0;
    EXPECT_EQ(status_of(wrong, cloud.view()), core::Status::argument);
    wrong = options();
    wrong.dimension = 4;
    EXPECT_EQ(status_of(wrong, cloud.view()), core::Status::argument);
    ParticleView many = cloud.view();
    many.n = int64_t{1} << 31;
    EXPECT_EQ(status_of(options(), many), core::Status::unsupported);
    many.n = -1;
    EXPECT_EQ(status_of(options(), many), core::Status::argument);
    const Cloud wide = ball(10, 1, 1e160);
    EXPECT_EQ(status_of(options(), wide.view()), core::Status::value);
}

INSTANTIATE_TEST_SUITE_P(Types, EitherTree, ::testing::Values(TreeType::octree, TreeType::orb));

TEST(Octree, uses_the_given_root) {
    TreeOptions options;
    options.has_root = true;
    options.root_lower[0] = options.root_lower[1] = options.root_lower[2] = -4;
    options.root_edge = 8;
    const Cloud cloud = ball(5000);
    const Built built(cloud, options);
    check_tree(built.tree, cloud);
    EXPECT_EQ(built.tree.root_edge, 8);
    for (int32_t i = 0; i < built.tree.node_count();
         ++i) { // every node lies in one cell of the grid of its edge
        const double edge = built.tree.edges[i];
        for (int axis = 0; axis < 3; ++axis)
            ASSERT_EQ(std::floor((built.tree.boxes[i].lower[axis] + 4) / edge),
                      std::floor((built.tree.boxes[i].upper[axis] + 4) / edge));
    }
}

TEST(Octree, names_the_first_particle_outside_the_given_root) {
    TreeOptions options;
    options.has_root = true;
    options.root_edge = 1;
    Cloud cloud;
    cloud.add(0, 0, 0), cloud.add(1, 1, 1), cloud.add(0.5, 1.5, 0.5), cloud.add(-1, 0, 0);
    try {
        Built built(cloud, options);
        FAIL();
    } catch (const core::Error& error) {
        EXPECT_EQ(error.status(), core::Status::value);
        EXPECT_NE(std::string(error.what()).find("particle 2 at"), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("expected y in [0, 1]"), std::string::npos) << error.what();
    }
}

TEST(Octree, separates_what_the_keys_cannot) {
    Cloud cloud; // nested pairs of clusters: 1, 1e-9, 1e-18... apart
    for (int depth = 0; depth < 20; ++depth)
        for (int i = 0; i < 100; ++i)
            cloud.add(std::pow(10.0, -9 * depth) * (1 + 0.001 * i), 0, 0);
    TreeOptions options;
    options.leaf = 4;
    const Built built(cloud, options);
    check_tree(built.tree, cloud);
    EXPECT_LT(built.tree.node_count(), 2 * cloud.size());
}

TEST(Octree, large_cells_are_keyed_again_alike_for_any_number_of_threads) {
    Cloud cloud = ball(200000); // two cells of 100,000 particles that one key cannot part
    for (size_t i = 0; i < cloud.x.size(); i += 2)
        cloud.z[i] += 1e12;
    const Built one(cloud, {});
    check_tree(one.tree, cloud);
    expect_same_tree(one.tree, Built(cloud, {}, 3).tree);
}

TEST(Octree, far_clusters_cost_like_near_ones) {
    Cloud one = ball(200000), two;
    for (int64_t i = 0; i < one.size(); ++i)
        two.add(one.x[i] + (i % 2 ? 1e12 : 0), one.y[i], one.z[i]);
    const Built near(one, {}), far(two, {});
    const auto shortest_s = [](const Cloud& cloud) { // other processes take turns on the cores
        double least_s = 1e9;
        for (int tries = 0; tries < 7; ++tries) {
            core::Timer timer;
            const Built built(cloud, {});
            least_s = std::min(least_s, timer.seconds());
        }
        return least_s;
    };
    EXPECT_LT(shortest_s(two), 3 * shortest_s(one) + 0.05);
    EXPECT_LT(far.tree.node_count(), 2 * near.tree.node_count());
}

/// Leaves of the octree by its definition: cells halved by comparison with their centre, sets of particle
/// numbers.
void oracle_leaves(const Cloud& cloud, std::vector<int32_t> members, const double* centre, double half,
                   int leaf, std::vector<std::set<int32_t>>& leaves) {
    if (members.empty())
        return;
    if (static_cast<int>(members.size()) <= leaf) {
        leaves.emplace_back(members.begin(), members.end());
        return;
    }
    for (int octant = 0; octant < 8; ++octant) {
        std::vector<int32_t> inside;
        double next[3];
        for (int axis = 0; axis < 3; ++axis)
            next[axis] = centre[axis] + (octant >> axis & 1 ? 0.5 : -0.5) * half;
        for (const int32_t i : members) {
            const auto at = static_cast<size_t>(i);
            const int where = (cloud.x[at] >= centre[0]) | (cloud.y[at] >= centre[1]) << 1 |
                              (cloud.z[at] >= centre[2]) << 2;
            if (where == octant)
                inside.push_back(i);
        }
        oracle_leaves(cloud, inside, next, 0.5 * half, leaf, leaves);
    }
}

/// Leaves of the ORB tree by its definition: sort by (coordinate, index) along the longest side, cut at the
/// count.
void oracle_orb(const Cloud& cloud, std::vector<int32_t> members, int64_t count,
                std::vector<std::set<int32_t>>& leaves) {
    if (count == 1) {
        leaves.emplace_back(members.begin(), members.end());
        return;
    }
    const std::vector<double>* axes[3] = {&cloud.x, &cloud.y, &cloud.z};
    int axis = 0;
    double longest = -1;
    for (int a = 0; a < 3; ++a) {
        const auto less = [&](int32_t i, int32_t j) {
            return (*axes[a])[static_cast<size_t>(i)] < (*axes[a])[static_cast<size_t>(j)];
        };
        const auto [low, high] = std::minmax_element(members.begin(), members.end(), less);
        const double side = (*axes[a])[static_cast<size_t>(*high)] - (*axes[a])[static_cast<size_t>(*low)];
        if (side > longest)
            longest = side, axis = a;
    }
    std::sort(members.begin(), members.end(), [&](int32_t i, int32_t j) {
        const double x = (*axes[axis])[static_cast<size_t>(i)], y = (*axes[axis])[static_cast<size_t>(j)];
        return x != y ? x < y : i < j;
    });
    int64_t perfect = 1; // leaves of the largest perfect tree that fits; the rest splits leaves from the left
    while (2 * perfect <= count)
        perfect *= 2;
    const int64_t left = perfect / 2 + std::min(count - perfect, perfect / 2);
    const auto cut = static_cast<int64_t>(std::floor(
        static_cast<double>(members.size()) * static_cast<double>(left) / static_cast<double>(count) + 0.5));
    oracle_orb(cloud, {members.begin(), members.begin() + cut}, left, leaves);
    oracle_orb(cloud, {members.begin() + cut, members.end()}, count - left, leaves);
}

std::vector<std::set<int32_t>> leaf_sets(const Tree& tree) {
    std::vector<std::pair<int64_t, int32_t>> by_place;
    for (int32_t i = 0; i < tree.node_count(); ++i)
        if (tree.is_leaf(i))
            by_place.emplace_back(tree.nodes[i].first, i);
    std::sort(by_place.begin(), by_place.end());
    std::vector<std::set<int32_t>> sets;
    for (const auto& [first, i] : by_place)
        sets.emplace_back(tree.order.data() + first, tree.order.data() + first + tree.nodes[i].count);
    return sets;
}

TEST(Octree, has_the_leaves_of_its_definition) {
    TreeOptions options;
    options.has_root = true;
    options.root_lower[0] = options.root_lower[1] = options.root_lower[2] = -1;
    options.root_edge = 2;
    for (int leaf : {1, 7, 32}) {
        options.leaf = leaf;
        const Cloud cloud = ball(3000);
        std::vector<std::set<int32_t>> expected;
        std::vector<int32_t> all(3000);
        for (int32_t i = 0; i < 3000; ++i)
            all[static_cast<size_t>(i)] = i;
        const double centre[3] = {0, 0, 0};
        oracle_leaves(cloud, all, centre, 1, leaf, expected);
        EXPECT_EQ(leaf_sets(Built(cloud, options).tree), expected);
    }
}

TEST(Orb, has_the_leaves_of_its_definition) {
    for (int n : {33, 100, 3000, 40000}) { // the last one is larger than what one thread partitions alone
        Cloud cloud = ball(n);
        for (int i = 0; i < n; i += 3)
            cloud.x[static_cast<size_t>(i)] = std::round(8 * cloud.x[static_cast<size_t>(i)]) / 8; // ties
        TreeOptions options;
        options.type = TreeType::orb;
        std::vector<std::set<int32_t>> expected;
        std::vector<int32_t> all(static_cast<size_t>(n));
        for (int32_t i = 0; i < n; ++i)
            all[static_cast<size_t>(i)] = i;
        oracle_orb(cloud, all, (n + 31) / 32, expected);
        EXPECT_EQ(leaf_sets(Built(cloud, options).tree), expected);
    }
}

TEST(Octree, stops_as_soon_as_a_cell_is_small_enough) {
    const Built built(ball(20000), {});
    for (int32_t i = 0; i < built.tree.node_count(); ++i)
        ASSERT_EQ(built.tree.is_leaf(i), built.tree.nodes[i].count <= built.tree.options.leaf);
}

TEST(Orb, leaves_fill_from_the_left) {
    EXPECT_EQ(detail::left_leaves(2), 1);
    EXPECT_EQ(detail::left_leaves(3), 2);
    EXPECT_EQ(detail::left_leaves(4), 2);
    EXPECT_EQ(detail::left_leaves(5), 3);
    EXPECT_EQ(detail::left_leaves(6), 4);
    EXPECT_EQ(detail::left_leaves(7), 4);
    EXPECT_EQ(detail::left_leaves(8), 4);
    for (int64_t leaves = 2; leaves < 3000;
         ++leaves) { // one side perfect, the other one level at most away from it
        const int64_t left = detail::left_leaves(leaves), right = leaves - left;
        const auto perfect = [](int64_t v) { return (v & (v - 1)) == 0; };
        ASSERT_TRUE(perfect(left) || perfect(right)) << leaves;
        ASSERT_GE(left, right);
        ASSERT_LE(left, 2 * right);
    }
}

TEST(Orb, is_nearly_complete_and_cuts_the_longest_side) {
    const Cloud cloud = ball(20000);
    TreeOptions options;
    options.type = TreeType::orb;
    const Built built(cloud, options);
    const Tree& tree = built.tree;
    EXPECT_EQ(tree.node_count(), 2 * ((20000 + 31) / 32) - 1);
    EXPECT_EQ(tree.levels(), 11); // ceil(log2 625) + 1
    for (int32_t i = 0; i < tree.node_count(); ++i) {
        if (tree.is_leaf(i)) {
            ASSERT_GE(tree.nodes[i].level, 9);
            continue;
        }
        const int axis = tree.boxes[i].longest_axis();
        const int32_t left = tree.nodes[i].first_child;
        ASSERT_LE(tree.boxes[left].upper[axis], tree.boxes[left + 1].lower[axis]);
    }
}

} // namespace
} // namespace graft::tree
