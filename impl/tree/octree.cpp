// SPDX-License-Identifier: BSD-3-Clause
// Octree from sorted Morton keys, top down, one level at a time.
//
// A node stands for the smallest key cell that holds its particles, so chains of single children never exist.
// Its children are the non-empty key cells one level below that cell. Within a level all nodes are
// independent: split, count, scan, write. Source: gaburov2010 section 3.2.1.
#include "backend/scan.hpp"
#include "core/error.hpp"
#include "core/timer.hpp"
#include "geometry/morton.hpp"
#include "tree/build_steps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace graft::tree::detail {

namespace {

/// Cube of the given box: its longest edge from its lower corner.
void tight_root(const geometry::Box& box, Tree& tree) {
    for (int axis = 0; axis < 3; ++axis)
        tree.root_lower[axis] = box.empty() ? 0.0 : box.lower[axis];
    tree.root_edge = box.empty() ? 0.0 : box.longest_edge();
}

void check_inside(const ParticleView& particles, const geometry::Box& box, const Tree& tree) {
    bool inside = true;
    for (int axis = 0; axis < tree.options.dimension && !box.empty(); ++axis)
        inside = inside && box.lower[axis] >= tree.root_lower[axis] &&
                 box.upper[axis] - tree.root_lower[axis] <= tree.root_edge;
    for (int64_t i = 0; !inside && i < particles.n; ++i) {
        const double point[3] = {particles.x[i], particles.y[i],
                                 particles.z != nullptr ? particles.z[i] : 0.0};
        for (int axis = 0; axis < tree.options.dimension; ++axis) {
            const double offset = point[axis] - tree.root_lower[axis];
            if (!(offset >= 0 && offset <= tree.root_edge))
                core::fail(core::Status::value,
                           "particle %lld at (%g, %g, %g) lies outside the given root cube: expected %c in "
                           "[%g, %g]. "
                           "Enlarge the root cube, or leave it away",
                           static_cast<long long>(i), point[0], point[1], point[2], "xyz"[axis],
                           tree.root_lower[axis], tree.root_lower[axis] + tree.root_edge);
        }
    }
}

/// First place in [begin, end) of sorted keys whose key is >= bound.
int64_t lower_bound(const uint64_t* keys, int64_t begin, int64_t end, uint64_t bound) {
    int64_t length = end - begin;
    while (length > 0) {
        const int64_t half = length / 2;
        const bool right = keys[begin + half] < bound;
        begin = right ? begin + half + 1 : begin;
        length = right ? length - half - 1 : half;
    }
    return begin;
}

class Splitter {
  public:
    Splitter(const backend::Executor& executor, Workspace& work, Tree& tree)
        : executor_(executor), work_(work), tree_(tree), dimension_(tree.options.dimension),
          cells_(1 << tree.options.dimension) {}

    void run(BuildTimes& times) {
        core::Timer timer;
        if (tree_.options.has_range)
            add_cells();
        else
            add_root(0, tree_.order.size());
        end_ = tree_.node_count();
        if (tree_.options.two_phase) {
            grow(tree_.options.top_depth);
            times.top_s = timer.lap();
            if (begin_ < end_ && grow_subtrees(executor_, begin_, end_, work_, tree_))
                begin_ = end_;
            times.subtrees_s = timer.lap();
        }
        grow(std::numeric_limits<int>::max()); // the whole tree; or what the second phase had to leave
        tree_.level_offset.push_back(tree_.node_count());
    }

  private:
    /// At most so many levels more, beginning with nodes [begin_, end_).
    void grow(int levels) {
        for (; levels > 0 && begin_ < end_; --levels) {
            tree_.level_offset.push_back(begin_);
            key_again(executor_, begin_, end_, work_, tree_);
            const int32_t children = split_level(begin_, end_);
            resize_nodes(end_ + children);
            write_children(begin_, end_);
            begin_ = end_;
            end_ += children;
        }
    }

    void resize_nodes(int64_t count) {
        tree_.nodes.resize_keep(count);
        tree_.edges.resize_keep(count);
        work_.base_levels.resize_keep(count);
    }

    void add_root(int64_t first, int64_t count) {
        const int32_t root = tree_.node_count();
        resize_nodes(root + 1);
        tree_.nodes[root] = Node{0, 0, -1, 0, first, count};
        tree_.edges[root] = tree_.root_edge;
        work_.base_levels[root] = 0;
    }

    /// A root for each of the largest key cells that tile the range, if it holds particles.
    void add_cells() {
        const int levels = geometry::key_levels(dimension_);
        const uint64_t end = tree_.options.key_end;
        int64_t first = 0;
        for (uint64_t key = tree_.options.key_begin; key < end;) {
            int level = levels;
            const auto size = [&](int of) { return uint64_t{1} << (levels - of) * dimension_; };
            while (level > 0 && key % size(level - 1) == 0 && size(level - 1) <= end - key)
                --level;
            const int64_t next = lower_bound(tree_.keys.data(), first, tree_.order.size(), key + size(level));
            if (next > first) {
                add_root(first, next - first);
                tree_.root_keys.push_back(key);
                tree_.root_levels.push_back(level);
                if (tree_.options.cut_by_begin != nullptr)
                    tree_.root_parents.push_back(particles_around(key, level));
            }
            key += size(level);
            first = next;
        }
    }

    /// The next larger cell is not inside the range: one of its ends cuts it.
    int64_t particles_around(uint64_t key, int level) const {
        if (level == 0)
            return tree_.order.size();
        const uint64_t parent = geometry::cell_begin(key, level - 1, dimension_);
        return (parent < tree_.options.key_begin ? tree_.options.cut_by_begin
                                                 : tree_.options.cut_by_end)[level - 1];
    }

    /// Finds the children of every node of the level; returns how many there are.
    int32_t split_level(int32_t begin, int32_t end) {
        const int64_t count = end - begin;
        work_.splits.resize(count * (most_children + 1));
        work_.child_counts.resize(count);
        executor_.for_each(
            count, [&](int64_t i) { work_.child_counts[i] = split(begin + static_cast<int32_t>(i), i); },
            256);
        return backend::exclusive_scan<int32_t>(
            executor_, count, [&](int64_t i) { return work_.child_counts[i]; }, work_.child_counts.data(),
            work_.block_sums);
    }

    int32_t split(int32_t index, int64_t slot) {
        return split_node(tree_, tree_.nodes[index], tree_.edges[index], work_.base_levels[index],
                          work_.splits.data() + slot * (most_children + 1));
    }

    void write_children(int32_t begin, int32_t end) {
        const int32_t next = tree_.node_count();
        executor_.for_each(
            end - begin,
            [&](int64_t i) {
                const int32_t from = end + work_.child_counts[i];
                const int32_t to = i + 1 < end - begin ? end + work_.child_counts[i + 1] : next;
                if (from < to)
                    write_children_of(begin + static_cast<int32_t>(i), from, to - from,
                                      work_.splits.data() + i * (most_children + 1));
            },
            256);
    }

    void write_children_of(int32_t parent_index, int32_t child, int32_t count, const int32_t* split) {
        Node& parent = tree_.nodes[parent_index];
        parent.first_child = child;
        parent.child_count = count;
        make_children(parent, parent_index, cells_, split, tree_.nodes.data() + child);
        std::fill_n(tree_.edges.data() + child, count, tree_.edges[parent_index]);
        std::fill_n(work_.base_levels.data() + child, count, work_.base_levels[parent_index]);
    }

    const backend::Executor& executor_;
    Workspace& work_;
    Tree& tree_;
    int dimension_;
    int cells_;
    int32_t begin_ = 0, end_ = 0; // the level that has no children yet
};

} // namespace

int32_t split_node(const Tree& tree, const Node& node, double& edge, int32_t& base_level, int32_t* split) {
    const int dimension = tree.options.dimension, cells = 1 << dimension,
              levels = geometry::key_levels(dimension);
    const uint64_t* keys = tree.keys.data();
    const int level = geometry::common_level(keys[node.first], keys[node.first + node.count - 1], dimension);
    edge = std::ldexp(edge, base_level - level);
    base_level = level;
    if (node.count <= tree.options.leaf || level == levels)
        return 0;
    const int shift = (levels - 1 - level) * dimension;
    const uint64_t prefix = keys[node.first] >> shift & ~static_cast<uint64_t>(cells - 1);
    int32_t children = 0;
    split[0] = 0;
    for (int cell = 1; cell <= cells; ++cell) {
        const int64_t end = node.first + node.count;
        const uint64_t bound = (prefix + static_cast<uint64_t>(cell)) << shift;
        split[cell] = static_cast<int32_t>(
            (cell == cells ? end : lower_bound(keys, node.first + split[cell - 1], end, bound)) - node.first);
        children += split[cell] > split[cell - 1];
    }
    return children;
}

void make_children(const Node& parent, int32_t parent_index, int cells, const int32_t* split, Node* child) {
    for (int cell = 0; cell < cells; ++cell)
        if (split[cell] != split[cell + 1])
            *child++ = Node{0,
                            0,
                            parent_index,
                            parent.level + 1,
                            parent.first + split[cell],
                            static_cast<int64_t>(split[cell + 1] - split[cell])};
}

void sort_by_key(const backend::Executor& executor, const ParticleView& particles, const geometry::Box& box,
                 Workspace& work, Tree& tree) {
    tight_root(box, tree);
    if (tree.options.has_root) {
        std::copy_n(tree.options.root_lower, 3, tree.root_lower);
        tree.root_edge = tree.options.root_edge;
        check_inside(particles, box, tree);
    }
    tree.keys.resize(particles.n);
    const geometry::KeyFrame frame(tree.root_lower, std::max(tree.root_edge, smallest_edge),
                                   tree.options.dimension);
    executor.for_each(particles.n, [&](int64_t i) {
        tree.keys[i] =
            frame.key(particles.x[i], particles.y[i], particles.z != nullptr ? particles.z[i] : 0.0);
        tree.order[i] = static_cast<int32_t>(i);
    });
    work.sorter.sort(executor, tree.keys, tree.order);
}

void split_cells(const backend::Executor& executor, Workspace& work, Tree& tree, BuildTimes& times) {
    if (tree.order.size() > 0)
        Splitter(executor, work, tree).run(times);
}

} // namespace graft::tree::detail
