// SPDX-License-Identifier: BSD-3-Clause
// Times of every walk, beside the floors; prints a table. Disabled by default: it takes seconds.
// gpu_lists --gtest_also_run_disabled_tests --gtest_filter='*Times*'
#include "plummer_scene.cuh"

#include <cstdio>

namespace graft::test {
namespace {

class WalkTimes : public ListsTest {
  protected:
    void measure(int64_t n, int leaf, int group) {
        PlummerScene scene(n, leaf, group);
        tree->upload(*queue, scene.tree);
        criterion->upload(*queue, scene.criterion, scene.tree.node_count());
        targets->upload(*queue, scene.targets);
        lists->nodes.resize(1), lists->leaves.resize(1);
        queue->clear_status();
        build(DeviceWalk::warp_per_group); // stops: too small
        const backend::DeviceStatus words = status();
        const int64_t entries = words.node_entries_needed + words.leaf_entries_needed;
        lists->nodes.resize(words.node_entries_needed), lists->leaves.resize(words.leaf_entries_needed);
        std::printf("n %lld leaf %d group %d: %d nodes, %lld groups of %.1f, entries %.4g node %.4g leaf, "
                    "floor %.3f ms\n",
                    static_cast<long long>(n), leaf, group, scene.tree.node_count(),
                    static_cast<long long>(scene.targets.group_count()),
                    static_cast<double>(n) / static_cast<double>(scene.targets.group_count()),
                    static_cast<double>(words.node_entries_needed),
                    static_cast<double>(words.leaf_entries_needed),
                    static_cast<double>(entries) * 4 / 3.9e12 * 1e3);
        for (const DeviceWalk kind :
             {DeviceWalk::warp_per_group, DeviceWalk::super_group, DeviceWalk::thread_per_group}) {
            if (kind == DeviceWalk::thread_per_group && n > 1000000)
                continue;
            queue->clear_status();
            const double time_s = median_time_s(*queue, [&] { build(kind); });
            ASSERT_EQ(status().stop, backend::go);
            const int64_t groups = scene.targets.group_count();
            const std::vector<int64_t> nodes = get(lists->node_offset.data(), groups + 1);
            std::printf("  walk %d: %.3f ms, %.1f GB/s of entries; entries %lld\n", static_cast<int>(kind),
                        time_s * 1e3, static_cast<double>(entries) * 4e-9 / time_s,
                        static_cast<long long>(nodes.back()));
        }
        std::fflush(stdout);
        const double targets_s =
            median_time_s(*queue, [&] { maker->set_all(*queue, *tree, group, *targets); });
        std::printf("  targets: %.3f ms\n", targets_s * 1e3);
    }
};

/// gaburov2010's figures of his walk: bytes of cells and entries per second, and lanes that are at work.
TEST_F(WalkTimes, DISABLED_ThreadPerGroup1e6) {
    PlummerScene scene(1000000, 64, 64);
    tree->upload(*queue, scene.tree);
    criterion->upload(*queue, scene.criterion, scene.tree.node_count());
    targets->upload(*queue, scene.targets);
    lists->nodes.resize(24000000), lists->leaves.resize(4000000);
    queue->clear_status();
    const double time_s = median_time_s(*queue, [&] { build(DeviceWalk::thread_per_group); });
    ASSERT_EQ(status().stop, backend::go);
    InteractionLists made(scene.memory);
    const int64_t groups = scene.targets.group_count();
    lists->download(*queue, groups, made);
    double looked_at = 0, lanes = 0;
    for (int64_t warp = 0; warp < groups; warp += 32) {
        double most = 0;
        for (int64_t g = warp; g < std::min(groups, warp + 32); ++g) {
            const auto entries = static_cast<double>(made.node_offset[g + 1] - made.node_offset[g] +
                                                     made.leaf_offset[g + 1] - made.leaf_offset[g]);
            const double nodes = (8 * entries - 1) / 7; // all inner nodes of this tree have eight children
            looked_at += nodes, most = std::max(most, nodes);
        }
        lanes += 32 * most;
    }
    const auto entries = static_cast<double>(made.nodes.size() + made.leaves.size());
    const double bytes = 2 * looked_at * 48 + 4 * entries;
    std::printf(
        "  a thread per group: %.3f ms, %.1f GB/s of cells and entries, at most %.3f of the lanes active\n",
        time_s * 1e3, bytes * 1e-9 / time_s, looked_at / lanes);
}

TEST_F(WalkTimes, DISABLED_Tuning) {
    for (const int group : {64, 128}) {
        PlummerScene scene(1000000, 64, group);
        tree->upload(*queue, scene.tree);
        criterion->upload(*queue, scene.criterion, scene.tree.node_count());
        targets->upload(*queue, scene.targets);
        lists->nodes.resize(24000000), lists->leaves.resize(4000000);
        queue->clear_status();
        for (const int patience : {0, 32, 48, 96})
            for (const int width : {0, 8}) {
                builder->tuning.patience = patience;
                builder->tuning.super_width = std::max(width, 1);
                const DeviceWalk kind = width > 0 ? DeviceWalk::super_group : DeviceWalk::warp_per_group;
                const double time_s = median_time_s(
                    *queue, [&] { build(kind); }, 5);
                std::printf("  group %d patience %d super %d: %.3f ms\n", group, patience, width,
                            time_s * 1e3);
            }
        ASSERT_EQ(status().stop, backend::go);
    }
}

TEST_F(WalkTimes, DISABLED_Plummer1e5) {
    for (const int leaf : {32, 64})
        measure(100000, leaf, 64);
}

TEST_F(WalkTimes, DISABLED_Plummer1e6) {
    for (const int group : {64, 128})
        for (const int leaf : {64, 32, 128})
            measure(1000000, leaf, group);
}

TEST_F(WalkTimes, DISABLED_Plummer8e6) {
    measure(8000000, 64, 64);
}

} // namespace
} // namespace graft::test
