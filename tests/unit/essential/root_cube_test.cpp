// SPDX-License-Identifier: BSD-3-Clause
// The root cube of trees over ranks: around all particles, with planes that part the ranks in its middle.
#include "essential/root_cube.hpp"
#include "../engine/ranks_scene.hpp"

#include <gtest/gtest.h>

namespace {

using namespace graft;
using namespace graft::engine;
using namespace graft::essential;
using namespace graft::particles;
using namespace graft::settings;
using namespace graft::engine::testing;

/// The root that all ranks find, each with a box (lower, upper); an empty one where lower[0] > upper[0].
KeyRange root_of(const std::vector<geometry::Box>& boxes, const Settings& settings,
                 TreeScope scope = TreeScope::local) {
    std::vector<KeyRange> roots(boxes.size());
    comm::run_ranks(static_cast<int>(boxes.size()), [&](comm::Communicator& comm) {
        const auto r = static_cast<size_t>(comm.rank());
        double corners[6];
        for (int a = 0; a < 3; ++a)
            corners[a] = -boxes[r].lower[a], corners[3 + a] = boxes[r].upper[a];
        roots[r] = find_root(comm, settings, scope, corners, [](const KeyRange&) {});
        double edge = 0; // what a GPU makes of the corners
        for (int a = 0; a < settings.dimension; ++a)
            edge = std::max(edge, corners[3 + a] - -corners[a]);
        if (!settings.has_box) {
            EXPECT_EQ(edge, roots[r].root_edge);
        }
    });
    for (const KeyRange& root : roots) {
        EXPECT_EQ(root.root_edge, roots[0].root_edge);
        for (int a = 0; a < settings.dimension; ++a) {
            EXPECT_EQ(root.root_lower[a], roots[0].root_lower[a]);
            for (const geometry::Box& box : boxes)
                if (box.lower[0] <= box.upper[0]) {
                    EXPECT_LE(root.root_lower[a], box.lower[a]);
                    EXPECT_GE(root.root_lower[a] + root.root_edge, box.upper[a]);
                }
        }
    }
    return roots[0];
}

geometry::Box box(double x0, double x1, double y0, double y1, double z0 = 0, double z1 = 1) {
    geometry::Box result;
    result.include(x0, y0, z0), result.include(x1, y1, z1);
    return result;
}

double middle(const KeyRange& root, int axis) {
    return root.root_lower[axis] + 0.5 * root.root_edge;
}

TEST(RootCube, PlanesBetweenRanksAreItsMiddle) {
    const Settings s;
    const KeyRange two = root_of({box(-3, 1, 0, 1), box(1.5, 2, 0, 1)}, s);
    EXPECT_NEAR(middle(two, 0), 1.25, 1e-9);
    EXPECT_NEAR(two.root_edge, 8.5, 1e-9);
    EXPECT_NEAR(middle(two, 1), 0.5, 1e-9) << "no plane: the box's middle";
    const KeyRange plain = root_of({box(-3, 1, 0, 1), box(1.5, 2, 0, 1)}, s, TreeScope::global);
    EXPECT_EQ(plain.root_lower[0], -3) << "one tree over all ranks: just around them";
    EXPECT_EQ(plain.root_edge, 5);
    const KeyRange four =
        root_of({box(0, 1, 0, 4), box(0, 1, 5, 9), box(2, 9, 0, 4.5), box(2, 9, 4.75, 9)}, s);
    EXPECT_NEAR(middle(four, 0), 1.5, 1e-9);
    EXPECT_NEAR(middle(four, 1), 4.625, 1e-9) << "both cuts across y leave room for one plane";
    const KeyRange slabs =
        root_of({box(0, 1, 0, 1), geometry::Box{}, box(1, 2, 0, 1), box(2, 3, 0, 1), box(3, 4, 0, 1)}, s);
    EXPECT_NEAR(middle(slabs, 0), 2, 1e-9) << "the most even of three";
}

TEST(RootCube, StaysWhereThereIsNoPlaneOrTheBoxIsGiven) {
    Settings s;
    const std::vector<geometry::Box> crossing = {box(0, 2, 0, 2), box(1, 3, 1, 3)};
    EXPECT_EQ(root_of(crossing, s).root_lower[0], root_of(crossing, s, TreeScope::global).root_lower[0]);
    EXPECT_EQ(root_of(crossing, s).root_edge, 3);
    EXPECT_EQ(root_of({box(0, 1, 0, 1)}, s).root_edge, 1) << "one rank";
    s.has_box = true;
    for (int a = 0; a < 3; ++a)
        s.box_lower[a] = -10, s.box_upper[a] = 10;
    EXPECT_EQ(root_of({box(0, 1, 0, 1), box(2, 3, 0, 1)}, s).root_edge, 20);
}

/// Two halves of a sphere: hardly more interactions than one rank has.
TEST(RootCube, RanksCutNoCells) {
    const Cloud cloud = make_cloud(20000);
    Settings s;
    s.mac = MacType::error, s.accuracy = 1e-3, s.leaf = 32, s.group = 64, s.local = Local::off;
    s.backend = Backend::cpu;
    const auto work = [](const Results& results) {
        double sum = 0;
        for (const Report& report : results.reports)
            sum += report.pairs + 3 * report.cells;
        return sum;
    };
    const double one = work(compute_over(1, cloud, all_on(cloud, 0), s));
    const double two = work(compute_over(2, cloud, slabs(cloud, 2), s));
    EXPECT_LT(two, 1.08 * one);
}

} // namespace
