// SPDX-License-Identifier: BSD-3-Clause
// Interaction lists against their definition: complete, disjoint, every decision the rule's; every walk
// alike.
#include "scene.hpp"

#include "core/error.hpp"

#include <hwy/highway.h>

namespace graft::lists {
namespace {

using namespace testing;

struct Case {
    tree::TreeType type;
    int dimension;
    Mac mac;
    double theta;
    int64_t direct_count;
};

void PrintTo(const Case& c, std::ostream* out) {
    *out << (c.type == tree::TreeType::orb ? "orb " : "octree ") << c.dimension << "-D, MAC "
         << static_cast<int>(c.mac) << ", theta " << c.theta << ", direct " << c.direct_count;
}

class Lists : public ::testing::TestWithParam<Case> {
  protected:
    void check_all_walks(Scene& scene) {
        scene.walk(WalkKind::two_pass);
        check_lists(scene);
        InteractionLists other(scene.memory);
        for (WalkKind kind : {WalkKind::two_pass, WalkKind::transposed})
            for (int threads : {1, 2, 7}) {
                SCOPED_TRACE(static_cast<int>(kind));
                scene.walk_into(other, kind, threads);
                expect_same_lists(scene.lists, other);
            }
    }
};

TEST_P(Lists, hold_every_particle_once_and_obey_the_criterion) {
    const Case& now = GetParam();
    for (const int64_t n : {1, 2, 40, 4000}) {
        SCOPED_TRACE(n);
        Scene scene(n, now.type, 16, now.dimension);
        scene.options.mac = now.mac;
        scene.options.theta = now.theta;
        scene.options.direct_count = now.direct_count;
        scene.fill();
        scene.targets.set_all(scene.executor, scene.tree, 32);
        if (now.mac == Mac::error)
            for (int64_t g = 0; g < scene.targets.group_count(); ++g)
                scene.targets.groups()[g].target.factor = 0.3 + 0.1 * static_cast<double>(g % 17);
        check_all_walks(scene);
        const std::vector<int32_t> chosen = scene.subset(5);
        scene.targets.set_particles(scene.executor, scene.tree, static_cast<int64_t>(chosen.size()),
                                    chosen.data(), 24);
        check_all_walks(scene);
        const Points points = two_balls(300, 8);
        scene.targets.set_points(scene.executor, now.dimension, 300, points.x.data(), points.y.data(),
                                 points.z.data(), nullptr, 8);
        check_all_walks(scene);
    }
}

INSTANTIATE_TEST_SUITE_P(Criteria, Lists,
                         ::testing::Values(Case{tree::TreeType::octree, 3, Mac::box, 0.7, 4},
                                           Case{tree::TreeType::octree, 3, Mac::edge, 0.5, 0},
                                           Case{tree::TreeType::octree, 3, Mac::error, 0.9, 8},
                                           Case{tree::TreeType::octree, 2, Mac::box, 0.6, 100},
                                           Case{tree::TreeType::orb, 3, Mac::box, 0.7, 0},
                                           Case{tree::TreeType::orb, 3, Mac::edge, 1.5, 40},
                                           Case{tree::TreeType::orb, 2, Mac::error, 0.8, 4}));

TEST(Lists_special, theta_zero_is_direct_summation) {
    for (Mac mac : {Mac::edge, Mac::box, Mac::error}) {
        Scene scene(3000);
        scene.options.mac = mac;
        scene.options.theta = 0;
        scene.fill();
        scene.targets.set_all(scene.executor, scene.tree, 32);
        scene.walk();
        EXPECT_EQ(scene.lists.nodes.size(), 0);
        int64_t leaves = 0;
        for (int32_t i = 0; i < scene.tree.node_count(); ++i)
            leaves += scene.tree.is_leaf(i);
        EXPECT_EQ(scene.lists.leaves.size(), leaves * scene.targets.group_count());
    }
}

TEST(Lists_special, no_sources_and_no_targets) {
    Scene empty(0), some(100);
    const double point = 1;
    empty.fill();
    empty.targets.set_points(empty.executor, 3, 1, &point, &point, &point, nullptr, 8);
    empty.walk();
    EXPECT_EQ(empty.lists.group_count(), 1);
    EXPECT_EQ(empty.lists.node_offset[1] + empty.lists.leaf_offset[1], 0);
    some.fill();
    some.targets.set_particles(some.executor, some.tree, 0, nullptr, 8);
    for (WalkKind kind : {WalkKind::two_pass, WalkKind::transposed}) {
        some.walk(kind);
        EXPECT_EQ(some.lists.group_count(), 0);
    }
}

TEST(Lists_special, compact_softening_keeps_overlapping_nodes_apart) {
    for (const bool per_particle : {false, true}) {
        Scene scene(4000);
        scene.options.theta = 1.2;
        scene.options.compact_softening = true;
        scene.options.softening_length = 0.3;
        scene.fill(per_particle);
        scene.targets.set_all(scene.executor, scene.tree, 32);
        scene.walk();
        check_lists(scene);
        const int64_t with = scene.lists.nodes.size();
        scene.options.compact_softening = false;
        scene.fill(per_particle);
        scene.walk();
        EXPECT_NE(scene.lists.nodes.size(), with) << "the softening changed nothing: the test is blind";
    }
}

TEST(Lists_special, are_the_same_on_every_instruction_set) {
    Scene scene(20000);
    scene.options.theta = 0.8;
    scene.fill();
    scene.targets.set_all(scene.executor, scene.tree, 32);
    scene.walk();
    InteractionLists other(scene.memory);
    int tried = 0;
    for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
        hwy::SetSupportedTargetsForTest(target);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
        for (WalkKind kind : {WalkKind::two_pass, WalkKind::transposed}) {
            scene.walk_into(other, kind, 1);
            expect_same_lists(scene.lists, other);
        }
        ++tried;
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    EXPECT_GE(tried, 1);
}

TEST(Lists_special, batches_are_pieces_of_the_whole) {
    Scene scene(5000);
    scene.fill();
    scene.targets.set_all(scene.executor, scene.tree, 32);
    scene.walk();
    InteractionLists part(scene.memory);
    const int64_t from = 7, count = 40;
    ListBuilder(scene.memory)
        .build(scene.executor, scene.tree, scene.criterion, scene.targets.groups().data() + from, count,
               WalkKind::two_pass, part);
    ASSERT_EQ(part.node_offset[count], scene.lists.node_offset[from + count] - scene.lists.node_offset[from]);
    for (int64_t k = 0; k < part.nodes.size(); ++k)
        ASSERT_EQ(part.nodes[k], scene.lists.nodes[scene.lists.node_offset[from] + k]);
}

TEST(Lists_special, a_second_build_allocates_nothing) {
    Scene scene(20000);
    scene.fill();
    scene.targets.set_all(scene.executor, scene.tree, 32);
    for (WalkKind kind : {WalkKind::two_pass, WalkKind::transposed}) {
        ListBuilder builder(scene.memory);
        int64_t before = 0;
        for (int time = 0; time < 2; ++time) {
            before = scene.memory.allocations();
            scene.fill();
            builder.build({scene.memory, 3}, scene.tree, scene.criterion, scene.targets.groups().data(),
                          scene.targets.group_count(), kind, scene.lists);
        }
        EXPECT_EQ(scene.memory.allocations(), before);
    }
}

TEST(Lists_special, far_clusters_cost_like_one) {
    const auto entries = [](double apart) {
        Scene scene(1);
        scene.points = two_balls(8000);
        for (int64_t i = 0; i < 8000; i += 2)
            scene.points.x[static_cast<size_t>(i)] += apart;
        tree::BuildTimes times;
        tree::TreeBuilder(scene.memory)
            .build(scene.executor, {}, 8000, scene.points.x.data(), scene.points.y.data(),
                   scene.points.z.data(), nullptr, scene.points.softening.data(), scene.tree, times);
        scene.properties[0] = Properties(scene.tree);
        scene.fill();
        scene.targets.set_all(scene.executor, scene.tree, 32);
        scene.walk();
        return scene.lists.nodes.size() + 16 * scene.lists.leaves.size();
    };
    EXPECT_LT(entries(1e12), 2 * entries(0));
}

TEST(Lists_special, refuses_a_negative_angle) {
    Scene scene(10);
    scene.options.theta = -0.1;
    EXPECT_THROW(scene.fill(), core::Error);
}

} // namespace
} // namespace graft::lists
