// SPDX-License-Identifier: BSD-3-Clause
// The criterion that the device computes has the bits of the host's.
#include "device_scene.cuh"

namespace graft::test {
namespace {

class DeviceCriterionTest : public ListsTest {
  protected:
    void put_moments(const Scene& scene, bool softened, moments::DeviceMoments& moments) {
        const auto& p = scene.properties[0];
        put(p.cx, moments.cx), put(p.cy, moments.cy), put(p.cz, moments.cz), put(p.radius, moments.radius);
        if (softened)
            put(p.softening, moments.softening);
    }

    void check(Scene& scene, bool softened) {
        scene.fill(softened);
        moments::DeviceMoments moments(*memory);
        put_moments(scene, softened, moments);
        backend::DeviceBuffer<double> reach(*memory, "reach");
        put(scene.properties[0].reach, reach);
        tree->upload(*queue, scene.tree);
        DeviceCriterion made(*memory), expected(*memory);
        expected.upload(*queue, scene.criterion, tree->node_capacity());
        lists::fill_criterion(*queue, *tree, moments, scene.options, reach.data(), made);
        const int64_t n = scene.tree.node_count();
        const auto expect_equal = [&](const auto& a, const auto& b, int64_t shift) {
            const auto all_a = get(a.data() + shift, n), all_b = get(b.data() + shift, n);
            for (size_t i = 0; i < all_a.size(); ++i)
                ASSERT_TRUE(std::memcmp(&all_a[i], &all_b[i], sizeof all_a[i]) == 0) << "node " << i;
        };
        expect_equal(made.xy, expected.xy, lists::mac_shift);
        expect_equal(made.za, expected.za, lists::mac_shift);
        expect_equal(made.links, expected.links, lists::mac_shift);
        ASSERT_EQ(made.softening.size(), softened ? tree->node_capacity() : 0);
        if (softened)
            expect_equal(made.softening, expected.softening, 0);
    }
};

TEST_F(DeviceCriterionTest, HasTheHostsBits) {
    Cases cases(7);
    for (const TreeType type : {TreeType::octree, TreeType::orb})
        for (const int dimension : {2, 3})
            for (const Mac mac : {Mac::edge, Mac::box, Mac::error})
                for (const double theta : {0.0, 0.3, 0.9})
                    for (const int64_t direct : {0, 40}) {
                        if (cases.skip())
                            continue;
                        Scene scene(3000, type, 8, dimension);
                        scene.options.mac = mac, scene.options.theta = theta;
                        scene.options.direct_count = direct;
                        check(scene, direct == 0);
                    }
    for (const int64_t n : {0, 1, 2}) {
        Scene scene(n);
        check(scene, false);
    }
}

TEST_F(DeviceCriterionTest, RefusesANegativeAngle) {
    Scene scene(10);
    moments::DeviceMoments moments(*memory);
    tree->upload(*queue, scene.tree);
    scene.options.theta = -1;
    EXPECT_THROW(lists::fill_criterion(*queue, *tree, moments, scene.options, nullptr, *criterion),
                 core::Error);
}

} // namespace
} // namespace graft::test
