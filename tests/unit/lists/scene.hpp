// SPDX-License-Identifier: BSD-3-Clause
// A tree with its criterion and targets, and oracles in plain scalar code that share nothing with the walk.
#pragma once

#include "lists/lists.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace graft::lists::testing {

struct Points {
    std::vector<double> x, y, z, softening;
    int64_t size() const { return static_cast<int64_t>(x.size()); }
};

/// Two centrally concentrated balls of different size: many scales, few symmetries.
inline Points two_balls(int64_t n, unsigned seed = 1) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(0.01, 1);
    Points points;
    for (int64_t i = 0; i < n; ++i) {
        const double a = normal(random), b = normal(random), c = normal(random);
        const double s =
            std::pow(uniform(random), 2.0) * (i % 3 ? 1 : 0.2) / std::sqrt(a * a + b * b + c * c);
        points.x.push_back(a * s + (i % 3 ? 0 : 3)), points.y.push_back(b * s), points.z.push_back(c * s);
        points.softening.push_back(0.02 + 0.01 * static_cast<double>(i % 7));
    }
    return points;
}

/// Centre of mass (charge = 1 + place % 3), exact radius, largest softening and a made-up reach of every
/// node.
struct Properties {
    std::vector<double> cx, cy, cz, radius, reach, softening;
    explicit Properties(const tree::Tree& tree) {
        for (const tree::Node& node : tree.nodes) {
            double sum[4] = {0, 0, 0, 0}, far = 0, longest = 0;
            for (int64_t p = node.first; p < node.first + node.count; ++p) {
                const double charge = 1 + static_cast<double>(p % 3);
                sum[0] += charge, sum[1] += charge * tree.x[p], sum[2] += charge * tree.y[p];
                sum[3] += charge * tree.z[p];
            }
            cx.push_back(sum[1] / sum[0]), cy.push_back(sum[2] / sum[0]), cz.push_back(sum[3] / sum[0]);
            for (int64_t p = node.first; p < node.first + node.count; ++p) {
                const double dx = tree.x[p] - cx.back(), dy = tree.y[p] - cy.back(),
                             dz = tree.z[p] - cz.back();
                far = std::max(far, std::sqrt(dx * dx + dy * dy + dz * dz));
                longest = std::max(longest, tree.softening[p]);
            }
            radius.push_back(far * (1 + 1e-14));
            reach.push_back(far * 1.5 + 0.001 * std::sqrt(sum[0]));
            softening.push_back(longest);
        }
    }
    NodeProperties view(bool with_softening) const {
        return {cx.data(),     cy.data(),    cz.data(),
                radius.data(), reach.data(), with_softening ? softening.data() : nullptr};
    }
};

struct Scene {
    core::Memory memory;
    Points points;
    tree::Tree tree{memory};
    std::vector<Properties> properties; // one, made after the tree
    Criterion criterion{memory};
    TargetSet targets{memory};
    InteractionLists lists{memory};
    CriterionOptions options;
    backend::Executor executor{memory, 1};

    explicit Scene(int64_t n, tree::TreeType type = tree::TreeType::octree, int leaf = 16, int dimension = 3)
        : points(two_balls(n)) {
        tree::TreeOptions tree_options;
        tree_options.type = type;
        tree_options.leaf = leaf;
        tree_options.dimension = dimension;
        tree::BuildTimes times;
        tree::TreeBuilder(memory).build(executor, tree_options, n, points.x.data(), points.y.data(),
                                        points.z.data(), nullptr, points.softening.data(), tree, times);
        properties.emplace_back(tree);
    }
    void fill(bool with_softening = false) {
        fill_criterion(executor, tree, options, properties[0].view(with_softening), criterion);
    }
    void walk(WalkKind kind = WalkKind::two_pass, int threads = 1) { walk_into(lists, kind, threads); }
    void walk_into(InteractionLists& into, WalkKind kind, int threads) {
        ListBuilder(memory).build({memory, threads}, tree, criterion, targets.groups().data(),
                                  targets.group_count(), kind, into);
    }
    /// Every second, third... host index in a scrambled order.
    std::vector<int32_t> subset(int step) const {
        std::vector<int32_t> chosen;
        for (int64_t i = points.size() - 1 - step / 2; i >= 0; i -= step)
            chosen.push_back(static_cast<int32_t>(i));
        return chosen;
    }
};

inline double box_distance(const geometry::Box& a, const geometry::Box& b) {
    double square = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const double gap = std::max({a.lower[axis] - b.upper[axis], b.lower[axis] - a.upper[axis], 0.0});
        square += gap * gap;
    }
    return std::sqrt(square);
}

/// The acceptance rule from its definition (criterion.hpp). NaN-free; margin > 0 when accepted.
inline double margin(const Scene& scene, const Target& target, int32_t i) {
    const Properties& p = scene.properties[0];
    const auto at = static_cast<size_t>(i);
    geometry::Box centre;
    centre.include(p.cx[at], p.cy[at], p.cz[at]);
    const geometry::Box& box = scene.tree.boxes[i];
    double b = 0;
    if (scene.options.mac == Mac::edge)
        b = scene.tree.edges[i] / scene.options.theta;
    if (scene.options.mac == Mac::box) {
        const double dx = p.cx[at] - box.centre(0), dy = p.cy[at] - box.centre(1),
                     dz = p.cz[at] - box.centre(2);
        b = box.longest_edge() / scene.options.theta + std::sqrt(dx * dx + dy * dy + dz * dz);
    }
    if (scene.options.mac == Mac::error)
        b = std::max(p.radius[at] / std::min(scene.options.theta, 0.85), p.reach[at] * target.factor);
    b = std::max(b, p.radius[at]);
    double margin = box_distance(target.box, centre) - b;
    if (scene.options.compact_softening) {
        const double length = scene.criterion.softening.empty() ? scene.options.softening_length
                                                                : std::max(p.softening[at], target.softening);
        const double clear = box_distance(target.box, box) - length;
        margin = std::min(margin, clear >= 0 ? std::max(clear, 1e-30) : clear);
    }
    return margin;
}

/// Every particle acts on every group exactly once; every decision is the rule's (unless `tolerance` close to
/// it).
inline void check_lists(const Scene& scene) {
    const tree::Tree& tree = scene.tree;
    const InteractionLists& lists = scene.lists;
    ASSERT_EQ(lists.group_count(), scene.targets.group_count());
    std::vector<int> met(static_cast<size_t>(tree.order.size()));
    for (int64_t g = 0; g < lists.group_count(); ++g) {
        const Target& target = scene.targets.groups()[g].target;
        std::fill(met.begin(), met.end(), 0);
        const auto take = [&](int32_t i, bool accepted) {
            const tree::Node& node = tree.nodes[i];
            for (int64_t p = node.first; p < node.first + node.count; ++p)
                ++met[static_cast<size_t>(p)];
            if (accepted) {
                ASSERT_GT(margin(scene, target, i), -1e-12) << "accepted node " << i << " of group " << g;
                ASSERT_GT(node.count, scene.options.direct_count);
            } else if (node.count > scene.options.direct_count) {
                ASSERT_TRUE(tree.is_leaf(i));
                ASSERT_LT(margin(scene, target, i), 1e-12) << "leaf " << i << " of group " << g;
            }
            if (node.parent >= 0) {
                ASSERT_LT(margin(scene, target, node.parent), 1e-12) << "parent of " << i << ", group " << g;
                ASSERT_GT(tree.nodes[node.parent].count, scene.options.direct_count);
            }
        };
        for (int64_t k = lists.node_offset[g]; k < lists.node_offset[g + 1]; ++k)
            take(lists.nodes[k], true);
        for (int64_t k = lists.leaf_offset[g]; k < lists.leaf_offset[g + 1]; ++k)
            take(lists.leaves[k], false);
        for (const int count : met)
            ASSERT_EQ(count, 1) << "group " << g;
    }
}

template <typename T>
void expect_equal(const core::Buffer<T>& a, const core::Buffer<T>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (int64_t i = 0; i < a.size(); ++i)
        ASSERT_EQ(a[i], b[i]) << i;
}

inline void expect_same_lists(const InteractionLists& a, const InteractionLists& b) {
    expect_equal(a.node_offset, b.node_offset);
    expect_equal(a.leaf_offset, b.leaf_offset);
    expect_equal(a.nodes, b.nodes);
    expect_equal(a.leaves, b.leaves);
}

} // namespace graft::lists::testing
