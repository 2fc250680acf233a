// SPDX-License-Identifier: BSD-3-Clause
// Lists with a skin stay right while particles move within it, and the watch sees when they do not.
#include "device_scene.cuh"

#include "lists/skin_gpu.cuh"

namespace graft::test {
namespace {

class DeviceSkinTest : public ListsTest {
  protected:
    /// Lists of the scene on the device, from a criterion with this skin.
    void build_with_skin(Scene& scene, double skin) {
        tree->upload(*queue, scene.tree);
        targets->upload(*queue, scene.targets);
        moments::DeviceMoments moments(*memory);
        const auto& p = scene.properties[0];
        put(p.cx, moments.cx), put(p.cy, moments.cy), put(p.cz, moments.cz), put(p.radius, moments.radius);
        backend::DeviceBuffer<double> reach(*memory, "reach");
        std::vector<double> grown = p.reach; // Properties' made-up reach grows like the radius
        for (double& value : grown)
            value += 1.5 * skin;
        put(grown, reach);
        criterion->skin = skin;
        lists::fill_criterion(*queue, *tree, moments, scene.options, reach.data(), *criterion);
        lists->nodes.resize(5000000), lists->leaves.resize(5000000);
        queue->clear_status();
        build(DeviceWalk::warp_per_group);
        ASSERT_EQ(status().stop, backend::go);
        lists->download(*queue, scene.targets.group_count(), scene.lists);
    }

    /// Moves every particle by just under skin / 2 in some direction, and all that follows from it.
    static void move(Scene& scene, double skin) {
        std::mt19937_64 random(7);
        std::uniform_real_distribution<double> uniform(-1, 1);
        for (int64_t i = 0; i < scene.tree.order.size(); ++i) {
            const double a = uniform(random), b = uniform(random), c = uniform(random);
            const double step = 0.499 * skin / std::sqrt(a * a + b * b + c * c);
            scene.tree.x[i] += a * step, scene.tree.y[i] += b * step, scene.tree.z[i] += c * step;
        }
        const auto bound = [&](geometry::Box& box, int64_t first, int64_t count) {
            box = geometry::Box{};
            for (int64_t i = first; i < first + count; ++i)
                box.include(scene.tree.x[i], scene.tree.y[i], scene.tree.z[i]);
        };
        for (int64_t k = 0; k < scene.tree.node_count(); ++k)
            bound(scene.tree.boxes[k], scene.tree.nodes[k].first, scene.tree.nodes[k].count);
        for (Group& group : scene.targets.groups())
            bound(group.target.box, group.first, group.count);
        scene.properties[0] = lists::testing::Properties(scene.tree);
    }

    static int64_t count_violations(const Scene& scene) {
        int64_t count = 0;
        for (int64_t g = 0; g < scene.targets.group_count(); ++g)
            for (int64_t k = scene.lists.node_offset[g]; k < scene.lists.node_offset[g + 1]; ++k)
                count += lists::testing::margin(scene, scene.targets.groups()[g].target,
                                                scene.lists.nodes[k]) <= 0;
        return count;
    }

    static void expect_complete(const Scene& scene) {
        for (int64_t g = 0; g < scene.targets.group_count(); ++g) {
            int64_t count = 0;
            for (int64_t k = scene.lists.node_offset[g]; k < scene.lists.node_offset[g + 1]; ++k)
                count += scene.tree.nodes[scene.lists.nodes[k]].count;
            for (int64_t k = scene.lists.leaf_offset[g]; k < scene.lists.leaf_offset[g + 1]; ++k)
                count += scene.tree.nodes[scene.lists.leaves[k]].count;
            ASSERT_EQ(count, scene.tree.order.size()) << "group " << g;
        }
    }
};

TEST_F(DeviceSkinTest, CriterionHoldsAfterMoves) {
    constexpr double skin = 0.02;
    for (const Mac mac : {Mac::edge, Mac::box, Mac::error})
        for (const bool compact : {false, true}) {
            int64_t violations[2];
            for (const bool with_skin : {false, true}) {
                Scene scene(5000, TreeType::octree, 8);
                scene.options.mac = mac, scene.options.theta = 0.7;
                scene.options.compact_softening = compact, scene.options.softening_length = 0.1;
                scene.targets.set_all(scene.executor, scene.tree, 32);
                scene.fill();
                build_with_skin(scene, with_skin ? skin : 0);
                ASSERT_FALSE(HasFatalFailure());
                expect_complete(scene);
                EXPECT_EQ(count_violations(scene), 0);
                move(scene, skin);
                violations[with_skin] = count_violations(scene);
            }
            EXPECT_GT(violations[0], 0) << "without a skin the moves must show";
            EXPECT_EQ(violations[1], 0) << "mac " << static_cast<int>(mac) << " compact " << compact;
        }
}

TEST_F(DeviceSkinTest, WatchSeesTheFurthest) {
    lists::DeviceSkinWatch watch(*memory);
    for (const int64_t n : {1, 2, 1000, 300001}) {
        std::vector<double> x(static_cast<size_t>(n), 1.0), y = x, z = x;
        backend::DeviceBuffer<double> dx(*memory, "x"), dy(*memory, "y"), dz(*memory, "z");
        put(x, dx), put(y, dy), put(z, dz);
        watch.remember(*queue, {n, dx.data(), dy.data(), dz.data(), dx.data()});
        watch.measure(*queue, {n, dx.data(), dy.data(), dz.data(), dx.data()});
        EXPECT_EQ(get(watch.displacement(), 1)[0], 0.0);
        watch.measure(*queue, {n, dx.data(), dy.data(), dz.data()});
        EXPECT_TRUE(std::isinf(get(watch.displacement(), 1)[0])) << "there were charges";
        backend::DeviceBuffer<double> charge(*memory, "charge");
        std::vector<double> other = z;
        other.back() = 1.5;
        put(other, charge);
        watch.measure(*queue, {n, dx.data(), dy.data(), dz.data(), charge.data()});
        EXPECT_TRUE(std::isinf(get(watch.displacement(), 1)[0])) << "another charge";
        watch.remember(*queue, {n, dx.data(), dy.data(), dz.data()});
        x[static_cast<size_t>(n / 2)] += 3, y[static_cast<size_t>(n / 2)] -= 4;
        x[0] += 0.5;
        put(x, dx), put(y, dy);
        watch.measure(*queue, {n, dx.data(), dy.data(), dz.data()});
        EXPECT_EQ(get(watch.displacement(), 1)[0], n / 2 == 0 ? std::sqrt(3.5 * 3.5 + 16) : 5.0);
        z[static_cast<size_t>(n - 1)] = std::nan("");
        put(z, dz);
        watch.measure(*queue, {n, dx.data(), dy.data(), dz.data()});
        EXPECT_TRUE(std::isinf(get(watch.displacement(), 1)[0]));
    }
    backend::DeviceBuffer<double> other(*memory, "x");
    put(std::vector<double>(5), other);
    watch.measure(*queue, {5, other.data(), other.data(), other.data()});
    EXPECT_TRUE(std::isinf(get(watch.displacement(), 1)[0])) << "another number of particles";
}

} // namespace
} // namespace graft::test
