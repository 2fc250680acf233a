// Times of every walk, beside the floors; prints a table. Disabled by default: it takes seconds.
// gpu_lists --gtest_also_run_disabled_tests --gtest_filter='*Times*'
#include "plummer_scene.cuh"

#include "lists/device_runs.cuh"

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
        build(DeviceWalk::warp_per_group);
        measure_runs(entries);
        const double targets_s =
            median_time_s(*queue, [&] { maker->set_all(*queue, *tree, group, *targets); });
        std::printf("  targets: %.3f ms\n", targets_s * 1e3);
    }
    void measure_runs(int64_t) {
        lists::DeviceRuns runs(*memory);
        const int64_t groups = get(targets->group_count.data(), 1)[0];
        const auto measure_one = [&](const char* name, int64_t entries, const auto& encode) {
            const double time_s = median_time_s(*queue, encode);
            int64_t made = groups;
            for (const int32_t count : get(runs.count.data(), groups))
                made += count;
            std::printf("  runs of %s: %.3f ms, %lld entries in %lld runs: %.3g bytes instead of %.3g\n",
                        name, time_s * 1e3, static_cast<long long>(entries), static_cast<long long>(made),
                        8.0 * static_cast<double>(made), 4.0 * static_cast<double>(entries));
        };
        measure_one("sources", lists->leaves.size(),
                    [&] { lists::encode_runs(*queue, *tree, *targets, *lists, runs); });
        measure_one("nodes", lists->nodes.size(),
                    [&] { lists::encode_node_runs(*queue, *tree, *targets, *lists, runs); });
    }
};

TEST_F(WalkTimes, DISABLED_Plummer) {
    measure(100000, 32, 64);
    for (const int leaf : {32, 64, 128})
        for (const int group : {64, 128})
            measure(1000000, leaf, group);
    measure(8000000, 64, 64);
}

} // namespace
} // namespace graft::test
