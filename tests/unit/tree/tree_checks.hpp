// SPDX-License-Identifier: BSD-3-Clause
// What every tree must satisfy, checked by brute force; the oracles share no code with the builders.
#pragma once

#include "tree/build.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace graft::tree::testing {

struct Cloud {
    std::vector<double> x, y, z, charge, softening;
    int64_t size() const { return static_cast<int64_t>(x.size()); }
    void add(double px, double py, double pz) {
        x.push_back(px), y.push_back(py), z.push_back(pz);
        charge.push_back(1 + static_cast<double>(x.size() % 7));
        softening.push_back(0.01 * static_cast<double>(x.size() % 5));
    }
    ParticleView view() const {
        return {size(), x.data(), y.data(), z.data(), charge.data(), softening.data()};
    }
};

inline Cloud ball(int64_t n, unsigned seed = 1, double scale = 1) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(0.001, 1);
    Cloud cloud;
    for (int64_t i = 0; i < n; ++i) {
        const double r = scale * std::pow(uniform(random), 2.0); // centrally concentrated
        const double a = normal(random), b = normal(random), c = normal(random),
                     s = r / std::sqrt(a * a + b * b + c * c);
        cloud.add(a * s, b * s, c * s);
    }
    return cloud;
}

struct Named {
    const char* name;
    Cloud cloud;
};

/// Shapes that break trees: few points, lines, planes, heaps, far clusters.
inline std::vector<Named> awkward_clouds() {
    std::vector<Named> all;
    for (int n : {0, 1, 2, 3, 33})
        all.push_back({"few", ball(n)});
    Cloud line, plane, equal, heaps, far, negative_zero;
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (int i = 0; i < 3000; ++i) {
        line.add(uniform(random), 0.25, -3);
        plane.add(uniform(random), 7, uniform(random));
        equal.add(0.1, 0.2, 0.3);
        heaps.add(static_cast<double>(random() % 10), 0.1 * static_cast<double>(random() % 3), 1);
        const double far_away = i % 2 ? 1e12 : 0;
        far.add(far_away + uniform(random), uniform(random), far_away + uniform(random));
        negative_zero.add(i % 2 ? 0.0 : -0.0, i % 3 ? 0.0 : -0.0, uniform(random));
    }
    all.push_back({"ball", ball(20000)});
    all.push_back({"tiny", ball(2000, 5, 1e-300)});
    all.push_back({"huge", ball(2000, 6, 1e140)});
    all.push_back({"line", line});
    all.push_back({"plane", plane});
    all.push_back({"equal", equal});
    all.push_back({"heaps", heaps});
    all.push_back({"far", far});
    all.push_back({"negative zero", negative_zero});
    return all;
}

/// Executor, builder and tree in one, for tests that build once.
struct Built {
    core::Memory memory;
    Tree tree{memory};
    BuildTimes times;
    Built(const Cloud& cloud, const TreeOptions& options, int threads = 1) {
        TreeBuilder(memory).build({memory, threads}, options, cloud.view(), tree, times);
    }
};

inline void check_particles(const Tree& tree, const Cloud& cloud) {
    const int64_t n = cloud.size();
    ASSERT_EQ(tree.order.size(), n);
    ASSERT_EQ(tree.x.size(), n);
    ASSERT_EQ(tree.charge.size(), n);
    std::vector<int> seen(static_cast<size_t>(n), 0);
    for (int64_t i = 0; i < n; ++i) {
        const auto host = static_cast<size_t>(tree.order[i]);
        ASSERT_LT(host, seen.size());
        ++seen[host];
        ASSERT_EQ(tree.x[i], cloud.x[host]);
        ASSERT_EQ(tree.y[i], cloud.y[host]);
        ASSERT_EQ(tree.z[i], tree.options.dimension == 3 ? cloud.z[host] : 0.0);
        ASSERT_EQ(tree.charge[i], cloud.charge[host]);
        ASSERT_EQ(tree.softening[i], cloud.softening[host]);
    }
    ASSERT_EQ(std::count(seen.begin(), seen.end(), 1), n);
}

inline void check_links(const Tree& tree) {
    ASSERT_EQ(tree.level_offset[0], 0);
    ASSERT_EQ(tree.level_offset[tree.levels()], tree.node_count());
    int32_t next_child = 1; // children of all nodes, one after the other, are nodes 1, 2, 3...
    for (int32_t i = 0; i < tree.node_count(); ++i) {
        const Node& node = tree.nodes[i];
        ASSERT_GE(i, tree.level_offset[node.level]);
        ASSERT_LT(i, tree.level_offset[node.level + 1]);
        ASSERT_GT(node.count, 0);
        ASSERT_EQ(node.parent == -1, i == 0);
        if (node.child_count == 0) {
            ASSERT_EQ(node.first_child, 0);
            continue;
        }
        ASSERT_GE(node.child_count, 2);
        ASSERT_LE(node.child_count, tree.options.type == TreeType::orb ? 2 : 1 << tree.options.dimension);
        ASSERT_EQ(node.first_child, next_child);
        int64_t first = node.first;
        for (int32_t c = 0; c < node.child_count; ++c, ++next_child) {
            const Node& child = tree.nodes[next_child];
            ASSERT_EQ(child.parent, i);
            ASSERT_EQ(child.level, node.level + 1);
            ASSERT_EQ(child.first, first);
            first += child.count;
        }
        ASSERT_EQ(first, node.first + node.count);
    }
    ASSERT_EQ(next_child, tree.node_count());
}

inline void check_boxes(const Tree& tree) {
    ASSERT_EQ(tree.boxes.size(), tree.nodes.size());
    ASSERT_EQ(tree.edges.size(), tree.nodes.size());
    const core::Buffer<double>* axes[3] = {&tree.x, &tree.y, &tree.z};
    for (int32_t i = 0; i < tree.node_count(); ++i) {
        const Node& node = tree.nodes[i];
        for (int axis = 0; axis < 3; ++axis) {
            const double* begin = axes[axis]->data() + node.first;
            const auto [low, high] = std::minmax_element(begin, begin + node.count);
            ASSERT_EQ(tree.boxes[i].lower[axis], *low);
            ASSERT_EQ(tree.boxes[i].upper[axis], *high);
        }
        if (tree.is_leaf(i) && node.count > tree.options.leaf) {
            ASSERT_LT(tree.boxes[i].longest_edge(), 1e-290) << "node " << i << " holds " << node.count;
        }
    }
}

inline void check_tree(const Tree& tree, const Cloud& cloud) {
    check_particles(tree, cloud);
    if (cloud.size() == 0) {
        ASSERT_EQ(tree.node_count(), 0);
        ASSERT_EQ(tree.levels(), 0);
        return;
    }
    ASSERT_EQ(tree.nodes[0].first, 0);
    ASSERT_EQ(tree.nodes[0].count, cloud.size());
    check_links(tree);
    check_boxes(tree);
}

template <typename T>
void expect_same_bits(const core::Buffer<T>& a, const core::Buffer<T>& b, const char* what) {
    ASSERT_EQ(a.size(), b.size()) << what;
    if (a.size() > 0) {
        ASSERT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.size()) * sizeof(T)), 0) << what;
    }
}

inline void expect_same_tree(const Tree& a, const Tree& b) {
    expect_same_bits(a.order, b.order, "order");
    expect_same_bits(a.nodes, b.nodes, "nodes");
    expect_same_bits(a.boxes, b.boxes, "boxes");
    expect_same_bits(a.edges, b.edges, "edges");
    expect_same_bits(a.keys, b.keys, "keys");
    expect_same_bits(a.level_offset, b.level_offset, "level_offset");
    expect_same_bits(a.x, b.x, "x");
    expect_same_bits(a.softening, b.softening, "softening");
}

} // namespace graft::tree::testing
