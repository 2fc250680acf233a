// SPDX-License-Identifier: BSD-3-Clause
// Targets that the device makes: the host's groups, in its order, with its boxes.
#include "device_scene.cuh"

#include "geometry/morton.hpp"
#include "lists/groups_gpu.cuh"

namespace graft::test {
namespace {

class DeviceTargetsTest : public ListsTest {
  protected:
    void expect_host(const Scene& scene) {
        const int64_t count = scene.targets.group_count();
        ASSERT_EQ(targets->n, scene.targets.count());
        ASSERT_EQ(status().stop, backend::go);
        ASSERT_EQ(get(targets->group_count.data(), 1)[0], count);
        const auto groups = get(targets->groups.data(), count);
        for (int64_t g = 0; g < count; ++g)
            ASSERT_TRUE(same_group(groups[static_cast<size_t>(g)], scene.targets.groups()[g]))
                << "group " << g;
        const auto x = get(targets->x, targets->n), y = get(targets->y, targets->n);
        const auto z = get(targets->z, targets->n);
        const auto origin = get(targets->origin, targets->n);
        for (size_t t = 0; t < x.size(); ++t) {
            ASSERT_EQ(origin[t], scene.targets.origin()[t]) << "target " << t;
            ASSERT_TRUE(same(x[t], scene.targets.x()[t]) && same(y[t], scene.targets.y()[t]) &&
                        same(z[t], scene.targets.z()[t]))
                << "target " << t;
        }
    }
    void set_all(Scene& scene, int group) {
        scene.targets.set_all(scene.executor, scene.tree, group);
        tree->upload(*queue, scene.tree);
        maker->set_all(*queue, *tree, group, *targets);
        expect_host(scene);
    }
    void set_some(Scene& scene, int step, int group) {
        const std::vector<int32_t> chosen = scene.subset(step);
        const auto count = static_cast<int64_t>(chosen.size());
        scene.targets.set_particles(scene.executor, scene.tree, count, chosen.data(), group);
        std::vector<uint8_t> active(scene.points.x.size());
        for (const int32_t i : chosen)
            active[static_cast<size_t>(i)] = 1;
        tree->upload(*queue, scene.tree);
        backend::DeviceBuffer<uint8_t> flags(*memory, "flags");
        put(active, flags);
        maker->set_active(*queue, *tree, flags.data(), count, group, *targets);
        expect_host(scene);
    }
};

TEST_F(DeviceTargetsTest, AllParticlesOfAnOctree) {
    Cases cases(7);
    for (const int dimension : {2, 3})
        for (const int64_t n : {0, 1, 2, 17, 5000})
            for (const int leaf : {1, 16, 200})
                for (const int group : {1, 7, 64, 128, 10000}) {
                    if (cases.skip())
                        continue;
                    Scene scene(n, TreeType::octree, leaf, dimension);
                    SCOPED_TRACE(testing::Message() << dimension << " " << n << " " << leaf << " " << group);
                    set_all(scene, group);
                    ASSERT_FALSE(HasFatalFailure());
                }
}

TEST_F(DeviceTargetsTest, ActiveParticlesOfAnOctree) {
    Cases cases(7);
    for (const int64_t n : {1, 2, 17, 5000})
        for (const int leaf : {1, 16, 200})
            for (const int group : {1, 7, 64})
                for (const int step : {1, 2, 13, 100000}) {
                    if (cases.skip())
                        continue;
                    Scene scene(n, TreeType::octree, leaf, 3);
                    SCOPED_TRACE(testing::Message() << n << " " << leaf << " " << group << " " << step);
                    set_some(scene, step, group);
                    ASSERT_FALSE(HasFatalFailure());
                }
}

TEST_F(DeviceTargetsTest, HeapsOfEqualPoints) {
    Scene scene(1);
    for (const int64_t heap : {2, 64, 1000}) {
        lists::testing::Points& points = scene.points;
        points = lists::testing::two_balls(3 * heap);
        for (int64_t i = 0; i < heap; ++i) {
            const auto k = static_cast<size_t>(i * 3);
            points.x[k] = 0.25, points.y[k] = 0.125, points.z[k] = -0.5;
        }
        for (const int leaf : {4, 300})
            for (const int group : {1, 3, 64}) {
                tree::TreeOptions options;
                options.leaf = leaf;
                tree::BuildTimes times;
                tree::TreeBuilder(scene.memory)
                    .build(scene.executor, options, points.size(), points.x.data(), points.y.data(),
                           points.z.data(), nullptr, points.softening.data(), scene.tree, times);
                SCOPED_TRACE(testing::Message() << heap << " " << leaf << " " << group);
                set_all(scene, group);
                ASSERT_FALSE(HasFatalFailure());
            }
    }
}

/// A range of keys: a forest, whose sister roots are packed as in the tree of all.
TEST_F(DeviceTargetsTest, AllParticlesOfARangeOfKeys) {
    const lists::testing::Points points = lists::testing::two_balls(20000);
    for (const int part : {0, 1, 2}) {
        Scene scene(1);
        tree::TreeOptions options;
        options.leaf = 8, options.has_root = true, options.root_edge = 8;
        for (double& lower : options.root_lower)
            lower = -4;
        const geometry::KeyFrame frame(options.root_lower, options.root_edge, 3);
        options.has_range = true;
        options.key_begin = part == 0 ? 0 : frame.key(0.01 * part, 0.02, -0.03);
        options.key_end = part == 2 ? uint64_t{1} << 63 : frame.key(0.3, 0.1 * (1 + part), 0.2);
        std::vector<double> x, y, z, softening;
        for (size_t i = 0; i < points.x.size(); ++i) {
            const uint64_t key = frame.key(points.x[i], points.y[i], points.z[i]);
            if (key >= options.key_begin && key < options.key_end)
                x.push_back(points.x[i]), y.push_back(points.y[i]), z.push_back(points.z[i]),
                    softening.push_back(points.softening[i]);
        }
        tree::BuildTimes times;
        tree::TreeBuilder(scene.memory)
            .build(scene.executor, options, static_cast<int64_t>(x.size()), x.data(), y.data(), z.data(),
                   nullptr, softening.data(), scene.tree, times);
        ASSERT_GT(scene.tree.root_count(), 3) << "part " << part;
        for (const int group : {1, 64, 500})
            set_all(scene, group);
        ASSERT_FALSE(HasFatalFailure());
    }
}

TEST_F(DeviceTargetsTest, AllAndActiveParticlesOfAKdTree) {
    Cases cases(5);
    for (const int dimension : {2, 3})
        for (const int64_t n : {1, 2, 5000})
            for (const int group : {1, 64}) {
                if (cases.skip())
                    continue;
                Scene scene(n, TreeType::orb, 16, dimension);
                SCOPED_TRACE(testing::Message() << dimension << " " << n << " " << group);
                set_all(scene, group);
                set_some(scene, 3, group);
                ASSERT_FALSE(HasFatalFailure());
            }
}

TEST_F(DeviceTargetsTest, Points) {
    Cases cases(7);
    for (const int dimension : {2, 3})
        for (const int64_t n : {0, 1, 2, 33, 5000})
            for (const int group : {1, 64}) {
                if (cases.skip())
                    continue;
                Scene scene(1);
                const lists::testing::Points points = lists::testing::two_balls(n, 5);
                backend::DeviceBuffer<double> x(*memory, "x"), y(*memory, "y"), z(*memory, "z");
                backend::DeviceBuffer<double> softening(*memory, "softening");
                put(points.x, x), put(points.y, y), put(points.z, z), put(points.softening, softening);
                for (const bool softened : {false, true}) {
                    SCOPED_TRACE(testing::Message() << dimension << " " << n << " " << group << softened);
                    const double* lengths = softened ? points.softening.data() : nullptr;
                    scene.targets.set_points(scene.executor, dimension, n, points.x.data(), points.y.data(),
                                             points.z.data(), lengths, group);
                    maker->set_points(*queue, dimension, n, x.data(), y.data(), z.data(),
                                      softened ? softening.data() : nullptr, group, *targets);
                    expect_host(scene);
                    ASSERT_FALSE(HasFatalFailure());
                }
            }
}

TEST_F(DeviceTargetsTest, PointsLeaveTheWordsOfTheSourcesTree) {
    const std::vector<int64_t> words = {123, 45, 6};
    GRAFT_CUDA(cudaMemcpyAsync(&queue->status()->nodes_needed, words.data(), 24, cudaMemcpyHostToDevice,
                               queue->stream()));
    const lists::testing::Points points = lists::testing::two_balls(1000);
    backend::DeviceBuffer<double> x(*memory, "x");
    put(points.x, x);
    maker->set_points(*queue, 3, 1000, x.data(), x.data(), x.data(), nullptr, 8, *targets);
    const backend::DeviceStatus after = status();
    EXPECT_EQ(after.nodes_needed, 123);
    EXPECT_EQ(after.leaves, 45);
    EXPECT_EQ(after.levels, 6);
    EXPECT_GT(after.spare[0], 100) << "nodes of the targets' own tree";
}

TEST_F(DeviceTargetsTest, TooManyGroupsStopAndSayTheirNumber) {
    Scene scene(5000);
    tree->upload(*queue, scene.tree);
    maker->set_all(*queue, *tree, 64, *targets);
    std::vector<int32_t> first(100);
    for (size_t g = 0; g < first.size(); ++g)
        first[g] = static_cast<int32_t>(g * 50);
    backend::DeviceBuffer<int32_t> starts(*memory, "starts");
    put(first, starts);
    put(std::vector<int32_t>{100}, targets->group_count);
    put(std::vector<Group>(12), targets->groups);
    targets->groups.resize(10);
    lists::device::bound_groups(*queue, starts.data(), *targets);
    EXPECT_EQ(status().stop, backend::too_small);
    EXPECT_EQ(status().groups_needed, 100);
    const auto groups = get(targets->groups.data(), 12);
    EXPECT_EQ(groups[9].count, 50);
    EXPECT_EQ(groups[10].count, 0) << "behind the capacity";
}

TEST_F(DeviceTargetsTest, SteadyStateAllocatesNothing) {
    Scene scene(5000);
    tree->upload(*queue, scene.tree);
    maker->set_all(*queue, *tree, 64, *targets);
    const int64_t allocations = memory->allocations(), waits = queue->waits();
    maker->set_all(*queue, *tree, 64, *targets);
    EXPECT_EQ(memory->allocations(), allocations);
    EXPECT_EQ(queue->waits(), waits);
}

} // namespace
} // namespace graft::test
