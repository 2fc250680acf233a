// SPDX-License-Identifier: BSD-3-Clause
// Every walk on the device gives the host's lists, group by group, for every criterion.
#include "device_scene.cuh"

namespace graft::test {
namespace {

constexpr DeviceWalk kinds[] = {DeviceWalk::warp_per_group, DeviceWalk::super_group,
                                DeviceWalk::thread_per_group};

class DeviceWalkTest : public ListsTest {
  protected:
    void expect_host(Scene& scene, DeviceWalk kind) {
        lists->nodes.resize(std::max<int64_t>(scene.lists.nodes.size(), 1));
        lists->leaves.resize(std::max<int64_t>(scene.lists.leaves.size(), 1));
        GRAFT_CUDA(cudaMemsetAsync(lists->nodes.data(), 0xff, lists->nodes.size() * 4, queue->stream()));
        GRAFT_CUDA(cudaMemsetAsync(lists->leaves.data(), 0xff, lists->leaves.size() * 4, queue->stream()));
        queue->clear_status();
        build(kind);
        InteractionLists made(scene.memory), expected(scene.memory);
        lists->download(*queue, scene.targets.group_count(), made);
        const backend::DeviceStatus words = status();
        ASSERT_EQ(words.stop, backend::go);
        ASSERT_EQ(words.node_entries_needed, scene.lists.nodes.size());
        ASSERT_EQ(words.leaf_entries_needed, scene.lists.leaves.size());
        scene.walk_into(expected, lists::WalkKind::two_pass, 1);
        sort_lists(made), sort_lists(expected);
        lists::testing::expect_same_lists(made, expected);
    }
    void check(Scene& scene, int group, bool softened) {
        scene.targets.set_all(scene.executor, scene.tree, group);
        for (int64_t g = 0; g < scene.targets.group_count(); ++g)
            scene.targets.groups()[g].target.factor = 0.5 + 0.25 * static_cast<double>(g % 5);
        scene.fill(softened);
        scene.walk();
        upload(scene);
        for (const DeviceWalk kind : kinds) {
            SCOPED_TRACE(testing::Message() << "walk " << static_cast<int>(kind));
            expect_host(scene, kind);
            if (HasFatalFailure())
                return;
        }
    }
};

TEST_F(DeviceWalkTest, EveryCriterionAndTree) {
    Cases cases(7);
    for (const TreeType type : {TreeType::octree, TreeType::orb})
        for (const int dimension : {2, 3})
            for (const Mac mac : {Mac::edge, Mac::box, Mac::error})
                for (const bool compact : {false, true})
                    for (const bool softened : {false, true}) {
                        if (cases.skip())
                            continue;
                        Scene scene(4000, type, 8, dimension);
                        scene.options.mac = mac, scene.options.theta = 0.7;
                        scene.options.compact_softening = compact;
                        scene.options.softening_length = 0.1;
                        scene.options.direct_count = softened ? 20 : 0;
                        SCOPED_TRACE(testing::Message()
                                     << static_cast<int>(type) << " " << dimension << " mac "
                                     << static_cast<int>(mac) << " " << compact << softened);
                        check(scene, 32, softened);
                        ASSERT_FALSE(HasFatalFailure());
                    }
}

TEST_F(DeviceWalkTest, EverySize) {
    for (const int64_t n :
         {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{33}, int64_t{1000}, test_size(100000, 3000)})
        for (const double theta : {0.0, 0.5}) {
            if (n > 1000 && theta == 0)
                continue;
            Scene scene(n, TreeType::octree, n > 1000 ? 64 : 4);
            scene.options.theta = theta;
            SCOPED_TRACE(testing::Message() << n << " theta " << theta);
            check(scene, n > 1000 ? 128 : 8, false);
            ASSERT_FALSE(HasFatalFailure());
        }
}

/// Groups that one warp does not finish within its patience, all of them and a few.
TEST_F(DeviceWalkTest, LongLists) {
    Cases cases(3);
    for (const TreeType type : {TreeType::octree, TreeType::orb})
        for (const int dimension : {2, 3})
            for (const double theta : {0.02, 0.2}) {
                if (cases.skip())
                    continue;
                Scene scene(test_size(30000, 6000), type, 4, dimension);
                scene.options.theta = theta;
                SCOPED_TRACE(testing::Message() << static_cast<int>(type) << dimension << " theta " << theta);
                check(scene, theta < 0.1 ? 4096 : 256, false);
                ASSERT_FALSE(HasFatalFailure());
            }
}

/// Points on ever smaller shells: many levels, more siblings waiting than the wide steps have room for.
TEST_F(DeviceWalkTest, DeepTrees) {
    Scene scene(1);
    lists::testing::Points& points = scene.points;
    points = lists::testing::two_balls(test_size(8000, 2000));
    for (size_t i = 0; i < points.x.size(); ++i) {
        const double scale = std::pow(2.0, -static_cast<double>(i % 80));
        points.x[i] *= scale, points.y[i] *= scale, points.z[i] *= scale;
    }
    tree::TreeOptions options;
    options.leaf = 1;
    tree::BuildTimes times;
    tree::TreeBuilder(scene.memory)
        .build(scene.executor, options, points.size(), points.x.data(), points.y.data(), points.z.data(),
               nullptr, points.softening.data(), scene.tree, times);
    ASSERT_GT(scene.tree.levels(), 40);
    scene.properties[0] = lists::testing::Properties(scene.tree);
    scene.options.theta = 0.05;
    check(scene, 64, false);
}

TEST_F(DeviceWalkTest, NoParticles) {
    Scene scene(0);
    scene.targets.set_all(scene.executor, scene.tree, 8);
    scene.fill();
    upload(scene);
    for (const DeviceWalk kind : kinds) {
        build(kind);
        EXPECT_EQ(get(lists->node_offset.data(), 1)[0], 0);
        EXPECT_EQ(status().node_entries_needed, 0);
    }
}

TEST_F(DeviceWalkTest, BatchesAreTheWholeInPieces) {
    Scene scene(test_size(20000, 4000));
    scene.targets.set_all(scene.executor, scene.tree, 32);
    scene.fill();
    scene.walk();
    upload(scene);
    const int64_t groups = scene.targets.group_count();
    for (const DeviceWalk kind : kinds)
        for (const int batches : {2, 7})
            for (int batch = 0; batch < batches; ++batch) {
                build(kind, batch, batches);
                const int64_t begin = lists::batch_begin(groups, batch, batches);
                const int64_t count = lists::batch_begin(groups, batch + 1, batches) - begin;
                InteractionLists made(scene.memory), expected(scene.memory);
                lists->download(*queue, count, made);
                lists::ListBuilder(scene.memory)
                    .build(scene.executor, scene.tree, scene.criterion, scene.targets.groups().data() + begin,
                           count, lists::WalkKind::two_pass, expected);
                sort_lists(made), sort_lists(expected);
                lists::testing::expect_same_lists(made, expected);
                ASSERT_FALSE(HasFatalFailure());
            }
}

TEST_F(DeviceWalkTest, ListsThatDoNotFitStopAndSayTheirSize) {
    Scene scene(test_size(20000, 4000));
    scene.targets.set_all(scene.executor, scene.tree, 32);
    scene.fill();
    scene.walk();
    for (const DeviceWalk kind : kinds) {
        upload(scene, 100);
        const std::vector<int32_t> untouched(200, 77);
        put(untouched, lists->nodes), put(untouched, lists->leaves);
        lists->nodes.resize(100), lists->leaves.resize(100);
        queue->clear_status();
        build(kind);
        EXPECT_EQ(status().stop, backend::too_small);
        EXPECT_EQ(status().node_entries_needed, scene.lists.nodes.size());
        EXPECT_EQ(status().leaf_entries_needed, scene.lists.leaves.size());
        EXPECT_EQ(get(lists->nodes.data() + 100, 100), std::vector<int32_t>(100, 77));
        EXPECT_EQ(get(lists->leaves.data() + 100, 100), std::vector<int32_t>(100, 77));
    }
}

TEST_F(DeviceWalkTest, SameBitsEveryRunAndNothingAllocated) {
    Scene scene(test_size(20000, 4000));
    scene.targets.set_all(scene.executor, scene.tree, 32);
    scene.fill();
    scene.walk();
    upload(scene);
    for (const DeviceWalk kind : kinds) {
        build(kind);
        const auto nodes = get(lists->nodes.data(), scene.lists.nodes.size());
        const auto leaves = get(lists->leaves.data(), scene.lists.leaves.size());
        const int64_t allocations = memory->allocations(), waits = queue->waits();
        for (int run = 0; run < 3; ++run)
            build(kind);
        EXPECT_EQ(memory->allocations(), allocations);
        EXPECT_EQ(queue->waits(), waits);
        EXPECT_EQ(get(lists->nodes.data(), scene.lists.nodes.size()), nodes);
        EXPECT_EQ(get(lists->leaves.data(), scene.lists.leaves.size()), leaves);
    }
}

} // namespace
} // namespace graft::test
