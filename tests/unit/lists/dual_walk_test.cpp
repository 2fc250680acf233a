// SPDX-License-Identifier: BSD-3-Clause
// The walk over cells of targets against its definition: what a group meets, and what the cells above it have met, is
// every particle once; every decision is the rule's.
#include "scene.hpp"

#include "lists/dual_walk.hpp"
#include "lists/error_reach.hpp"
#include "lists/node_criterion.hpp"
#include "lists/target_cells.hpp"

#include <algorithm>

namespace graft::lists {
namespace {

using namespace testing;

constexpr int degree = 5, order = 2;

struct DualScene : Scene {
    moments::Moments moments{memory};
    FarNodes nodes{memory};
    core::Buffer<Undecided> stack{memory};
    int64_t shared = 0, own = 0; // far nodes of cells and of groups

    DualScene(int64_t n, tree::TreeType type, Mac mac) : Scene(n, type) {
        options.mac = mac;
        options.theta = 0.9;
        options.direct_count = 3;
        fill();
        const Properties& p = properties[0];
        const int64_t count = tree.node_count();
        for (core::Buffer<double>* values : {&moments.magnitude, &moments.spread, &moments.radius})
            values->resize(count);
        for (int64_t k = 0; k < count; ++k) {
            moments.magnitude[k] = 1e-3 * static_cast<double>(tree.nodes[k].count);
            moments.radius[k] = p.radius[static_cast<size_t>(k)];
            moments.spread[k] = 0.3 * moments.magnitude[k] * moments.radius[k] * moments.radius[k];
        }
        nodes.fill(executor, moments, criterion, options.theta, count);
        stack.resize(dual_walk_stack(criterion.levels));
    }
    WalkInput input() const { return walk_input(tree, criterion); }

    /// The far rule, from its definition. > 1: far.
    double room(const CellFarLimit& limit, int32_t k) const {
        const Properties& p = properties[0];
        const auto at = static_cast<size_t>(k);
        const double d = std::hypot(p.cx[at] - limit.centre[0], p.cy[at] - limit.centre[1], p.cz[at] - limit.centre[2]);
        const double extent = std::sqrt(moments.spread[k] / moments.magnitude[k]);
        const double error = moments.magnitude[k] * std::pow((limit.radius + extent) / d, degree) / (d * d);
        return std::min(limit.allowed / error, d / (1.05 * (limit.radius + moments.radius[k])));
    }

    void take(int32_t i, std::vector<int>& met) const {
        const tree::Node& node = tree.nodes[i];
        for (int64_t p = node.first; p < node.first + node.count; ++p)
            ++met[static_cast<size_t>(p)];
    }

    void check_far(const Target& target, const CellFarLimit& limit, const core::Buffer<int32_t>& far, std::vector<int>& met) {
        for (const int32_t i : far) {
            take(i, met);
            ASSERT_GT(margin(*this, target, i), -1e-12);
            ASSERT_GT(room(limit, i), 1 - 1e-9);
        }
    }

    void check_group(const TargetCell& cell, const core::Buffer<Undecided>& from, std::vector<int> met) {
        core::Buffer<int32_t> far(memory), near(memory), leaves(memory);
        const CellFarLimit limit(cell.target, order, degree);
        walk_group(input(), nodes, cell.target, &limit, from, stack.data(), far, near, leaves);
        check_far(cell.target, limit, far, met);
        own += far.size();
        for (const int32_t i : near) {
            take(i, met);
            ASSERT_GT(margin(*this, cell.target, i), -1e-12);
            ASSERT_LT(room(limit, i), 1 + 1e-9);
        }
        for (const int32_t i : leaves) {
            take(i, met);
            if (tree.nodes[i].count > options.direct_count) {
                ASSERT_TRUE(tree.is_leaf(i));
                ASSERT_LT(margin(*this, cell.target, i), 1e-12);
            }
        }
        for (const int count : met)
            ASSERT_EQ(count, 1) << "group " << cell.group;
    }

    void check_cell(int32_t index, const core::Buffer<Undecided>& from, std::vector<int> met) {
        const TargetCell& cell = targets.cells()[index];
        if (cell.group >= 0)
            return check_group(cell, from, std::move(met));
        core::Buffer<int32_t> far(memory);
        core::Buffer<Undecided> left(memory);
        const CellFarLimit limit(cell.target, order, degree);
        walk_cell(input(), nodes, cell.target, limit, from, stack.data(), far, left);
        check_far(cell.target, limit, far, met);
        shared += far.size();
        for (int32_t child = index + 1; child < cell.next; child = targets.cells()[child].next)
            check_cell(child, left, met);
    }

    void check() {
        shared = own = 0;
        core::Buffer<Group>& groups = targets.groups();
        for (int64_t g = 0; g < groups.size(); ++g)
            groups[g].target.factor = 0.05 + 0.02 * static_cast<double>(g % 17);
        bound_cells(groups, targets.cells());
        core::Buffer<Undecided> root(memory);
        root.push_back(all_of(input()));
        for (int32_t i = 0; i < targets.cells().size(); i = targets.cells()[i].next)
            check_cell(i, root, std::vector<int>(static_cast<size_t>(tree.order.size())));
    }
};

TEST(DualWalk, EveryParticleOnceAndEveryDecisionTheRules) {
    for (const Mac mac : {Mac::error, Mac::box})
        for (const int64_t n : {1, 40, 3000}) {
            SCOPED_TRACE(n);
            DualScene scene(n, tree::TreeType::octree, mac);
            scene.targets.set_all(scene.executor, scene.tree, 24);
            scene.check();
            if (n > 1000 && mac == Mac::error) {
                EXPECT_GT(scene.shared, 50);
                EXPECT_GT(scene.own, 50);
            }
            const std::vector<int32_t> chosen = scene.subset(5);
            scene.targets.set_particles(scene.executor, scene.tree, static_cast<int64_t>(chosen.size()), chosen.data(), 12);
            scene.check();
            const Points points = two_balls(200, 8);
            scene.targets.set_points(scene.executor, 3, 200, points.x.data(), points.y.data(), points.z.data(), nullptr, 8);
            scene.check();
        }
    DualScene orb(2000, tree::TreeType::orb, Mac::error);
    orb.targets.set_all(orb.executor, orb.tree, 24);
    orb.check();
}

/// Cells hold their groups: in order, each once, none outside the box or below the factor and length.
TEST(DualWalk, CellsHoldTheirGroups) {
    DualScene scene(5000, tree::TreeType::octree, Mac::error);
    scene.targets.set_all(scene.executor, scene.tree, 16);
    scene.check();
    const core::Buffer<TargetCell>& cells = scene.targets.cells();
    int32_t group = 0;
    int64_t inner = 0;
    for (int32_t i = 0; i < cells.size(); ++i) {
        if (cells[i].group >= 0) {
            EXPECT_EQ(cells[i].group, group++);
            EXPECT_EQ(cells[i].next, i + 1);
            continue;
        }
        ++inner;
        int64_t count = 0;
        for (int32_t k = i + 1; k < cells[i].next; ++k) {
            count += cells[k].group >= 0 ? cells[k].count : 0;
            geometry::Box both = cells[i].target.box;
            both.include(cells[k].target.box);
            EXPECT_EQ(both.longest_edge(), cells[i].target.box.longest_edge());
            EXPECT_GE(cells[i].target.factor, cells[k].target.factor);
            EXPECT_GE(cells[i].target.softening, cells[k].target.softening);
        }
        EXPECT_EQ(count, cells[i].count);
        EXPECT_GT(count, 16);
    }
    EXPECT_EQ(group, scene.targets.group_count());
    EXPECT_GT(inner, 50);
}

/// From the root and without far nodes a group's lists are those of the other walks, in their order.
TEST(DualWalk, FromTheRootListsAreThoseOfOtherWalks) {
    DualScene scene(3000, tree::TreeType::octree, Mac::box);
    scene.targets.set_all(scene.executor, scene.tree, 24);
    scene.walk();
    core::Buffer<Undecided> root(scene.memory);
    root.push_back(all_of(scene.input()));
    core::Buffer<int32_t> far(scene.memory), near(scene.memory), leaves(scene.memory);
    for (int64_t g = 0; g < scene.targets.group_count(); ++g)
        walk_group(scene.input(), scene.nodes, scene.targets.groups()[g].target, nullptr, root, scene.stack.data(), far,
                   near, leaves);
    EXPECT_EQ(far.size(), 0);
    expect_equal(near, scene.lists.nodes);
    expect_equal(leaves, scene.lists.leaves);
}

/// Nodes of other ranks, of which only the criterion and a rounded radius are known, count as those of the own tree.
TEST(FarNodes, OfOtherRanksAreThoseOfTheCriterion) {
    for (const double theta : {1.0, 0.5})
        for (int p = 0; p <= 4; ++p) {
            core::Memory memory;
            moments::Moments moments(memory);
            Criterion criterion(memory);
            moments.order = p;
            const double radius = 0.7, extent = 0.4, mass = 3;
            for (core::Buffer<double>* values : {&moments.magnitude, &moments.radius})
                values->resize(2);
            moments.spread.resize(1);
            criterion.resize_keep(2, false);
            for (int k = 0; k < 2; ++k) {
                moments.magnitude[k] = mass;
                criterion.a[k] = error_reach(p, mass, mass * extent * extent, radius, false, 0, 0);
                criterion.b[k] = radius / std::min(theta, closest_ratio);
            }
            moments.radius[0] = radius, moments.radius[1] = 1; // as sent
            moments.spread[0] = mass * extent * extent;
            FarNodes nodes(memory);
            nodes.fill(backend::Executor{memory, 1}, moments, criterion, theta, 2);
            EXPECT_NEAR(nodes.radius[1], nodes.radius[0], 1e-12) << "theta " << theta;
            EXPECT_NEAR(nodes.extent[1], nodes.extent[0], 1e-12) << "theta " << theta << ", order " << p;
        }
}

/// What a rank makes of the criterion of another's nodes: their extents, in any unit.
TEST(FarNodes, ExtentsComeBackFromTheReach) {
    for (int p = 0; p <= 4; ++p)
        for (const double unit : {1e-60, 1e-20, 1.0, 1e60})
            for (const double mass : {1e-100, 1.0, 1e100})
                for (const double share : {1.0, 0.6, 1e-3}) {
                    const double radius = 3 * unit, extent = share * radius;
                    const double reach = error_reach(p, mass, mass * extent * extent, radius, false, 0, 0);
                    EXPECT_NEAR(extent_of_reach(p, mass, reach, radius) / extent, 1, 1e-9)
                        << "order " << p << ", unit " << unit << ", mass " << mass;
                }
    EXPECT_EQ(extent_of_reach(2, 0, 1, 1), 0);
    EXPECT_EQ(extent_of_reach(2, 1, 100, 2), 2); // not beyond the radius
}

} // namespace
} // namespace graft::lists
