// SPDX-License-Identifier: BSD-3-Clause
// Target sets: who is in them, in which groups, with which boxes.
#include "scene.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <numeric>

namespace graft::lists {
namespace {

using namespace testing;

/// `expected`: host index or point number -> position, for all that must be there once.
void check_targets(const TargetSet& targets, const Points& points, std::vector<int32_t> expected,
                   int group_size) {
    ASSERT_EQ(targets.count(), static_cast<int64_t>(expected.size()));
    std::vector<int32_t> found(targets.origin(), targets.origin() + targets.count());
    for (int64_t i = 0; i < targets.count(); ++i) {
        const auto host = static_cast<size_t>(targets.origin()[i]);
        ASSERT_EQ(targets.x()[i], points.x[host]);
        ASSERT_EQ(targets.y()[i], points.y[host]);
        ASSERT_EQ(targets.softening()[i], points.softening[host]);
    }
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(found, expected);
    int64_t next = 0;
    for (const Group& group : targets.groups()) {
        ASSERT_EQ(group.first, next);
        ASSERT_GT(group.count, 0);
        ASSERT_LE(group.count, group_size);
        next += group.count;
        geometry::Box box;
        double softening = 0;
        for (int64_t i = group.first; i < next; ++i) {
            box.include(targets.x()[i], targets.y()[i], targets.z()[i]);
            softening = std::max(softening, targets.softening()[i]);
        }
        for (int axis = 0; axis < 3; ++axis) {
            ASSERT_EQ(group.target.box.lower[axis], box.lower[axis]);
            ASSERT_EQ(group.target.box.upper[axis], box.upper[axis]);
        }
        ASSERT_EQ(group.target.softening, softening);
        ASSERT_EQ(group.target.factor, 1);
    }
    ASSERT_EQ(next, targets.count());
}

class Targets : public ::testing::TestWithParam<std::tuple<tree::TreeType, int, int, int>> {
  protected:
    tree::TreeType type = std::get<0>(GetParam());
    int leaf = std::get<1>(GetParam()), group = std::get<2>(GetParam()), n = std::get<3>(GetParam());
    std::vector<int32_t> everyone() const {
        std::vector<int32_t> all(static_cast<size_t>(n));
        std::iota(all.begin(), all.end(), 0);
        return all;
    }
};

TEST_P(Targets, all_particles) {
    Scene scene(n, type, leaf);
    scene.targets.set_all(scene.executor, scene.tree, group);
    check_targets(scene.targets, scene.points, everyone(), group);
}

TEST_P(Targets, a_subset) {
    Scene scene(n, type, leaf);
    for (int step : {1, 3, 1000}) {
        const std::vector<int32_t> chosen = scene.subset(step);
        scene.targets.set_particles(scene.executor, scene.tree, static_cast<int64_t>(chosen.size()),
                                    chosen.data(), group);
        check_targets(scene.targets, scene.points, chosen, group);
        for (int64_t i = 0; i < scene.targets.count(); ++i)
            ASSERT_EQ(scene.tree.order[scene.targets.tree_place()[i]], scene.targets.origin()[i]);
    }
}

TEST_P(Targets, points) {
    Scene scene(1);
    const Points points = two_balls(n, 4);
    scene.targets.set_points(scene.executor, 3, n, points.x.data(), points.y.data(), points.z.data(),
                             points.softening.data(), group);
    check_targets(scene.targets, points, everyone(), group);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Targets,
                         ::testing::Combine(::testing::Values(tree::TreeType::octree, tree::TreeType::orb),
                                            ::testing::Values(1, 16, 200), ::testing::Values(1, 16, 64),
                                            ::testing::Values(0, 1, 7, 5000)));

TEST(Target_groups, are_well_filled_and_compact) {
    Scene scene(50000);
    scene.targets.set_all(scene.executor, scene.tree, 64);
    EXPECT_GT(50000.0 / static_cast<double>(scene.targets.group_count()), 32); // half full on average
    double volume = 0;
    for (const Group& group : scene.targets.groups())
        volume += group.target.box.edge(0) * group.target.box.edge(1) * group.target.box.edge(2);
    const geometry::Box& root = scene.tree.boxes[0];
    EXPECT_LT(volume, root.edge(0) * root.edge(1) * root.edge(2)); // hardly any overlap
}

/// A crowd in one corner of a cell, strays everywhere else in it.
struct Crowd : Scene {
    static constexpr int64_t crowd = 40000, strays = 50;
    Crowd() : Scene(1) {
        Points all = two_balls(crowd);
        for (int64_t i = 0; i < crowd; ++i)
            all.x[static_cast<size_t>(i)] *= 1e-3, all.y[static_cast<size_t>(i)] *= 1e-3,
                all.z[static_cast<size_t>(i)] *= 1e-3;
        const Points far = two_balls(strays, 5);
        all.x.insert(all.x.end(), far.x.begin(), far.x.end());
        all.y.insert(all.y.end(), far.y.begin(), far.y.end());
        all.z.insert(all.z.end(), far.z.begin(), far.z.end());
        all.softening.insert(all.softening.end(), far.softening.begin(), far.softening.end());
        points = all;
        tree::TreeOptions tree_options;
        tree_options.leaf = 16;
        tree::BuildTimes times;
        tree::TreeBuilder(memory).build(executor, tree_options, points.size(), points.x.data(),
                                        points.y.data(), points.z.data(), nullptr, points.softening.data(),
                                        tree, times);
        properties.clear();
        properties.emplace_back(tree);
        options.theta = 0.6;
        fill();
    }
    /// Particles that the targets of a group meet one by one, at most and summed over all targets.
    std::pair<int64_t, int64_t> met() {
        walk();
        int64_t most = 0, sum = 0;
        for (int64_t g = 0; g < targets.group_count(); ++g) {
            int64_t sources = 0;
            for (int64_t e = lists.leaf_offset[g]; e < lists.leaf_offset[g + 1]; ++e)
                sources += tree.nodes[lists.leaves[e]].count;
            most = std::max(most, sources), sum += sources * targets.groups()[g].count;
        }
        return {most, sum};
    }
};

TEST(Target_groups, of_strays_do_not_open_the_crowd_among_them) {
    Crowd scene;
    scene.targets.set_all(scene.executor, scene.tree, 64);
    check_targets(
        scene.targets, scene.points,
        [&] {
            std::vector<int32_t> all(static_cast<size_t>(scene.points.size()));
            std::iota(all.begin(), all.end(), 0);
            return all;
        }(),
        64);
    EXPECT_LT(scene.met().first, Crowd::crowd / 10) << "packed by eights of cells: nearly all";
    EXPECT_GT(static_cast<double>(Crowd::crowd) / static_cast<double>(scene.targets.group_count()), 32);
}

TEST(Target_groups, of_a_sparse_subset_are_small) {
    Scene scene(60000);
    scene.options.theta = 0.6;
    scene.fill();
    const std::vector<int32_t> chosen = scene.subset(1000);
    scene.targets.set_particles(scene.executor, scene.tree, static_cast<int64_t>(chosen.size()),
                                chosen.data(), 64);
    EXPECT_GT(scene.targets.group_count(), static_cast<int64_t>(chosen.size()) / 4);
    scene.walk();
    int64_t sum = 0;
    for (int64_t g = 0; g < scene.targets.group_count(); ++g)
        for (int64_t e = scene.lists.leaf_offset[g]; e < scene.lists.leaf_offset[g + 1]; ++e)
            sum += scene.tree.nodes[scene.lists.leaves[e]].count * scene.targets.groups()[g].count;
    EXPECT_LT(sum, 60 * 60000 / 20) << "in one group: all pairs";
}

TEST(Target_groups, cut_heaps_of_equal_points) {
    Scene scene(1);
    const std::vector<double> same(1000, 0.5);
    scene.targets.set_points(scene.executor, 3, 1000, same.data(), same.data(), same.data(), nullptr, 64);
    EXPECT_EQ(scene.targets.group_count(), 16);
    EXPECT_EQ(scene.targets.softening(), nullptr);
}

TEST(Target_groups, refuse_bad_input) {
    Scene scene(10);
    const int32_t beyond = 10;
    EXPECT_THROW(scene.targets.set_particles(scene.executor, scene.tree, 1, &beyond, 8), core::Error);
    EXPECT_THROW(scene.targets.set_all(scene.executor, scene.tree, 0), core::Error);
}

TEST(Target_groups, are_the_same_for_any_number_of_threads_and_allocate_once) {
    Scene scene(100000);
    TargetSet other(scene.memory);
    const std::vector<int32_t> chosen = scene.subset(2);
    const auto set = [&](TargetSet& targets, int threads) {
        targets.set_particles({scene.memory, threads}, scene.tree, static_cast<int64_t>(chosen.size()),
                              chosen.data(), 32);
    };
    set(scene.targets, 1);
    for (int threads : {2, 3, 7}) {
        set(other, threads);
        ASSERT_EQ(other.group_count(), scene.targets.group_count());
        ASSERT_TRUE(std::equal(other.origin(), other.origin() + other.count(), scene.targets.origin()));
    }
    const int64_t before = scene.memory.allocations();
    set(scene.targets, 7);
    EXPECT_EQ(scene.memory.allocations(), before);
}

} // namespace
} // namespace graft::lists
