// SPDX-License-Identifier: BSD-3-Clause
// Lists as runs hold what the lists hold, in fewer and longer pieces.
#include "complete.cuh"

#include "lists/lists_runs_gpu.cuh"

namespace graft::test {
namespace {

class DeviceRunsTest : public ListsTest {
  protected:
    void prepare(Scene& scene, int group) {
        scene.targets.set_all(scene.executor, scene.tree, group);
        scene.fill();
        scene.walk();
        upload(scene);
        build(DeviceWalk::warp_per_group);
    }
};

TEST_F(DeviceRunsTest, SourcesOfEveryGroup) {
    for (const int leaf : {4, 64})
        for (const double theta : {0.0, 0.5, 1.0}) {
            Scene scene(test_size(5000, 2000), TreeType::octree, leaf);
            scene.options.theta = theta;
            prepare(scene, 32);
            lists::DeviceRuns runs(*memory);
            lists::encode_runs(*queue, *tree, *targets, *lists, runs);
            const int64_t groups = scene.targets.group_count();
            const auto offset = get(runs.offset.data(), groups);
            const auto count = get(runs.count.data(), groups);
            int64_t made = 0;
            for (size_t g = 0; g < offset.size(); ++g) {
                std::vector<int64_t> found, expected;
                const auto of_group = get(runs.runs.data() + offset[g], count[g] + 1);
                for (size_t r = 0; r + 1 < of_group.size(); ++r)
                    for (int32_t k = 0; k < of_group[r + 1].before - of_group[r].before; ++k)
                        found.push_back(of_group[r].first + k);
                const auto group = static_cast<int64_t>(g);
                for (int64_t k = scene.lists.leaf_offset[group]; k < scene.lists.leaf_offset[group + 1];
                     ++k) {
                    const tree::Node& node = scene.tree.nodes[scene.lists.leaves[k]];
                    for (int64_t p = node.first; p < node.first + node.count; ++p)
                        expected.push_back(p);
                }
                std::sort(found.begin(), found.end()), std::sort(expected.begin(), expected.end());
                ASSERT_EQ(found, expected) << "group " << g;
                made += count[g];
            }
            EXPECT_LE(made, scene.lists.leaves.size());
            if (theta ==
                0) { // everything: one run for each piece of 128 leaves, but that a walk is not in order
                EXPECT_LT(made, scene.lists.leaves.size() / 2);
            }
        }
}

TEST_F(DeviceRunsTest, NodesOfEveryGroupThereAndBack) {
    Scene scene(20000);
    prepare(scene, 32);
    lists::DeviceRuns runs(*memory);
    lists::encode_node_runs(*queue, *tree, *targets, *lists, runs);
    backend::DeviceBuffer<int32_t> decoded(*memory, "decoded");
    decoded.resize(scene.lists.nodes.size());
    lists::decode_runs(*queue, *targets, *lists, runs, lists->node_offset.data(), decoded.data());
    InteractionLists made(scene.memory), again(scene.memory);
    lists->download(*queue, scene.targets.group_count(), made);
    decoded.swap(lists->nodes);
    lists->download(*queue, scene.targets.group_count(), again);
    sort_lists(made), sort_lists(again);
    lists::testing::expect_same_lists(made, again);
}

class DeviceCompleteness : public ListsTest {};

TEST_F(DeviceCompleteness, EveryParticleOnceAndACheckThatNoticesOthers) {
    Scene scene(20000);
    scene.targets.set_all(scene.executor, scene.tree, 64);
    scene.fill();
    scene.walk();
    upload(scene);
    const int64_t groups = scene.targets.group_count();
    for (const DeviceWalk kind :
         {DeviceWalk::warp_per_group, DeviceWalk::super_group, DeviceWalk::thread_per_group}) {
        build(kind);
        EXPECT_EQ(count_incomplete(*queue, *tree, 20000, *lists, groups), 0);
    }
    const std::vector<int32_t> wrong(1, 0);
    GRAFT_CUDA(
        cudaMemcpyAsync(lists->nodes.data(), wrong.data(), 4, cudaMemcpyHostToDevice, queue->stream()));
    EXPECT_EQ(count_incomplete(*queue, *tree, 20000, *lists, groups), 1);
}

} // namespace
} // namespace graft::test
