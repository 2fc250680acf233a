// SPDX-License-Identifier: BSD-3-Clause
// Orthogonal recursive bisection (k-d tree): nodes of nearly equal count, cut across the longest side of
// their box.
//
// n particles become ceil(n / N_leaf) leaves of a nearly complete binary tree filled from the left. The shape
// follows from the counts alone, except that particles at one place are not parted; so the particles are
// partitioned first, and the nodes are written level by level afterwards. Order within a cut is by
// (coordinate, host index), which makes the two sides independent of how they were found. Source: rehmann2022
// section 3.3, eq. 1-7; eq. 4 and 6 are misprinted there and derived anew.
#include "tree/build_steps.hpp"
#include "tree/select.hpp"

#include <algorithm>
#include <bit>

namespace graft::tree::detail {

int64_t left_leaves(int64_t leaves) {
    const int64_t bottom = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(leaves)));
    return leaves == 2 ? 1 : std::min(leaves - bottom / 4, bottom / 2);
}

int64_t left_count(int64_t count, int64_t left, int64_t leaves) {
    return (2 * count * left + leaves) / (2 * leaves);
}

namespace {

using Point = Workspace::Point;
using Part = Workspace::Part;

constexpr int64_t part_count = 1 << 14; // particles that one thread partitions to the end, in its own cache

geometry::Box box_of(const Point* points, int64_t count) {
    geometry::Box box;
    for (int64_t i = 0; i < count; ++i)
        box.include(points[i].position[0], points[i].position[1], points[i].position[2]);
    return box;
}

/// Parts `part` in two; false when it stays whole.
bool bisect(Point* points, const Part& part, Part& left, Part& right) {
    if (part.leaves < 2)
        return false;
    const geometry::Box box = box_of(points + part.first, part.count);
    const int axis = box.longest_axis();
    if (box.edge(axis) == 0)
        return false;
    left = {part.first, 0, left_leaves(part.leaves)};
    left.count = left_count(part.count, left.leaves, part.leaves);
    right = {part.first + left.count, part.count - left.count, part.leaves - left.leaves};
    Point* first = points + part.first;
    axis == 0   ? select<0>(first, left.count, part.count)
    : axis == 1 ? select<1>(first, left.count, part.count)
                : select<2>(first, left.count, part.count);
    return true;
}

void bisect_all(Point* points, const Part& part) {
    Part left, right;
    if (!bisect(points, part, left, right))
        return;
    bisect_all(points, left);
    bisect_all(points, right);
}

int64_t leaf_total(int64_t count, int leaf) {
    return (count + leaf - 1) / leaf;
}

/// All particles of the node are at one place (stops at the first that is not).
bool coincide(const Tree& tree, int64_t first, int64_t count) {
    for (int64_t i = first + 1; i < first + count; ++i)
        if (tree.x[i] != tree.x[first] || tree.y[i] != tree.y[first] || tree.z[i] != tree.z[first])
            return false;
    return true;
}

} // namespace

void sort_by_bisection(const backend::Executor& executor, const ParticleView& particles, Workspace& work,
                       Tree& tree) {
    work.points.resize(particles.n);
    Point* points = work.points.data();
    executor.for_each(particles.n, [&](int64_t i) {
        points[i] = {{particles.x[i], particles.y[i], particles.z != nullptr ? particles.z[i] : 0.0}, i};
    });
    work.parts.clear();
    work.parts.push_back({0, particles.n, leaf_total(particles.n, tree.options.leaf)});
    for (int64_t begin = 0, end = 1; begin < end; begin = end, end = work.parts.size()) {
        work.parts.resize_keep(end + 2 * (end - begin)); // level by level while parts are large
        executor.for_each(
            end - begin,
            [&](int64_t i) {
                const Part part = work.parts[begin + i];
                Part* children = &work.parts[end + 2 * i];
                children[0] = children[1] = Part{0, 0, 0};
                if (part.count <= part_count)
                    bisect_all(points, part);
                else
                    bisect(points, part, children[0], children[1]);
            },
            1);
        int64_t kept = end;
        for (int64_t i = end; i < work.parts.size(); ++i)
            if (work.parts[i].leaves > 1)
                work.parts[kept++] = work.parts[i];
        work.parts.resize_keep(kept);
    }
    executor.for_each(particles.n, [&](int64_t i) { tree.order[i] = static_cast<int32_t>(points[i].index); });
}

void split_bisections(const backend::Executor&, Workspace& work, Tree& tree) {
    if (tree.order.size() == 0)
        return;
    core::Buffer<Part>& parts = work.parts; // one per node
    parts.clear();
    parts.push_back({0, tree.order.size(), leaf_total(tree.order.size(), tree.options.leaf)});
    tree.nodes.push_back(Node{0, 0, -1, 0, 0, tree.order.size()});
    for (int32_t begin = 0, end = 1; begin < end; begin = end, end = tree.node_count()) {
        tree.level_offset.push_back(begin);
        for (int32_t i = begin; i < end; ++i) {
            const Part part = parts[i];
            if (part.leaves < 2 || coincide(tree, part.first, part.count))
                continue;
            const int64_t left = left_leaves(part.leaves);
            const int64_t count = left_count(part.count, left, part.leaves);
            tree.nodes[i].first_child = tree.node_count();
            tree.nodes[i].child_count = 2;
            const int32_t level = tree.nodes[i].level + 1;
            tree.nodes.push_back(Node{0, 0, i, level, part.first, count});
            tree.nodes.push_back(Node{0, 0, i, level, part.first + count, part.count - count});
            parts.push_back({part.first, count, left});
            parts.push_back({part.first + count, part.count - count, part.leaves - left});
        }
    }
    tree.level_offset.push_back(tree.node_count());
}

} // namespace graft::tree::detail
