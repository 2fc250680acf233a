// SPDX-License-Identifier: BSD-3-Clause
// Octree on the host in two phases, thuering2023 section 4.1.2 (figures 4.2 and 4.3): after the top of the
// tree (octree.cpp, level by level) every subtree is made by one thread, without a word to the others.
//
// His bodies are inserted one by one under locks; here they are sorted, so that a node is a range of keys.
// Threads put the levels of their subtrees into arenas of their own; by (level, subtree) these stretches are
// then in level order, which is the order that the level-by-level construction makes: the same tree.
#include "geometry/morton.hpp"
#include "tree/build_steps.hpp"

#include <algorithm>
#include <atomic>

namespace graft::tree::detail {

namespace {

constexpr int64_t most_tasks = 1024; // subtrees are handed out one by one, many by the block

using Arena = Workspace::Arena;
using Stretch = Workspace::Stretch;
using InOrder = Workspace::InOrder;

/// Particles that share their keys and are too many for a leaf; the level-by-level way keys them again.
bool is_deep(const Tree& tree, const Node& node, int level) {
    return node.count > tree.options.leaf && level == geometry::key_levels(tree.options.dimension);
}

/// Children behind the arena's last node. The parent's numbers by value: the arena may move.
void append_children(const Tree& tree, Node parent, int32_t index, double edge, int32_t level,
                     const int32_t* split, int32_t count, Arena& arena) {
    const auto first = static_cast<int32_t>(arena.nodes.size());
    arena.nodes.resize_keep(first + count);
    arena.edges.resize_keep(first + count);
    arena.base_levels.resize_keep(first + count);
    make_children(parent, index, 1 << tree.options.dimension, split, arena.nodes.data() + first);
    std::fill_n(arena.edges.data() + first, count, edge);
    std::fill_n(arena.base_levels.data() + first, count, level);
}

/// The next level of a subtree; false where a cell is too deep.
bool grow_stretch(const Tree& tree, const Stretch& stretch, Arena& arena) {
    int32_t split[most_children + 1];
    for (int32_t i = stretch.first; i < stretch.first + stretch.count; ++i) {
        const Node node = arena.nodes[i];
        const int32_t children = split_node(tree, node, arena.edges[i], arena.base_levels[i], split);
        if (is_deep(tree, node, arena.base_levels[i]))
            return false;
        if (children == 0)
            continue;
        arena.nodes[i].first_child = static_cast<int32_t>(arena.nodes.size());
        arena.nodes[i].child_count = children;
        append_children(tree, node, i, arena.edges[i], arena.base_levels[i], split, children, arena);
    }
    return true;
}

/// Everything below node `index`; false where a cell is too deep.
bool grow_subtree(int32_t subtree, int32_t index, Workspace& work, Tree& tree, Arena& arena) {
    int32_t split[most_children + 1];
    const Node& root = tree.nodes[index];
    const int32_t children = split_node(tree, root, tree.edges[index], work.base_levels[index], split);
    if (is_deep(tree, root, work.base_levels[index]))
        return false;
    Stretch stretch{subtree, root.level + 1, static_cast<int32_t>(arena.nodes.size()), children, 0};
    if (children > 0)
        append_children(tree, root, index, tree.edges[index], work.base_levels[index], split, children,
                        arena);
    while (stretch.count > 0) {
        arena.stretches.push_back(stretch);
        if (!grow_stretch(tree, stretch, arena))
            return false;
        stretch.first += stretch.count;
        stretch.count = static_cast<int32_t>(arena.nodes.size()) - stretch.first;
        ++stretch.level;
    }
    return true;
}

/// Places of all stretches behind node `place`, and the levels' offsets; returns the number of nodes.
int32_t place_stretches(int32_t place, Workspace& work, Tree& tree) {
    work.stretches.clear();
    for (size_t a = 0; a < work.arenas.size(); ++a)
        for (int64_t k = 0; k < work.arenas[a].stretches.size(); ++k) {
            const Stretch& stretch = work.arenas[a].stretches[k];
            work.stretches.push_back(
                {stretch.level, stretch.subtree, static_cast<int32_t>(a), static_cast<int32_t>(k)});
        }
    std::sort(work.stretches.begin(), work.stretches.end(), [](const InOrder& a, const InOrder& b) {
        return a.level != b.level ? a.level < b.level : a.subtree < b.subtree;
    });
    int32_t level = tree.levels(); // of the subtrees' roots: its begin is not yet closed
    for (const InOrder& one : work.stretches) {
        if (one.level != level)
            tree.level_offset.push_back(place);
        level = one.level;
        Stretch& stretch = work.arenas[static_cast<size_t>(one.arena)].stretches[one.stretch];
        stretch.place = place;
        place += stretch.count;
    }
    return place;
}

/// The nodes of a stretch where they belong, with the tree's indices.
void write_stretch(const Arena& arena, int64_t k, int32_t roots, Tree& tree) {
    const Stretch& stretch = arena.stretches[k];
    const bool top = k == 0 || arena.stretches[k - 1].subtree != stretch.subtree;
    for (int32_t i = 0; i < stretch.count; ++i) {
        Node node = arena.nodes[stretch.first + i];
        if (!top)
            node.parent += arena.stretches[k - 1].place - arena.stretches[k - 1].first;
        if (node.child_count > 0)
            node.first_child += arena.stretches[k + 1].place - arena.stretches[k + 1].first;
        tree.nodes[stretch.place + i] = node;
        tree.edges[stretch.place + i] = arena.edges[stretch.first + i];
    }
    if (top) {
        tree.nodes[roots + stretch.subtree].first_child = stretch.place;
        tree.nodes[roots + stretch.subtree].child_count = stretch.count;
    }
}

} // namespace

bool grow_subtrees(const backend::Executor& executor, int32_t begin, int32_t end, Workspace& work,
                   Tree& tree) {
    while (static_cast<int>(work.arenas.size()) < executor.threads)
        work.arenas.emplace_back(executor.memory);
    for (Arena& arena : work.arenas) {
        arena.nodes.clear();
        arena.edges.clear();
        arena.base_levels.clear();
        arena.stretches.clear();
    }
    std::atomic<bool> deep{false};
    const int64_t block = 1 + (end - begin) / most_tasks;
    executor.for_blocks(end - begin, block, [&](int64_t first, int64_t last, int thread) {
        for (int64_t s = first; s < last && !deep.load(std::memory_order_relaxed); ++s)
            if (!grow_subtree(static_cast<int32_t>(s), begin + static_cast<int32_t>(s), work, tree,
                              work.arenas[static_cast<size_t>(thread)]))
                deep.store(true, std::memory_order_relaxed);
    });
    if (deep)
        return false;
    tree.level_offset.push_back(begin);
    const int32_t count = place_stretches(end, work, tree);
    tree.nodes.resize_keep(count);
    tree.edges.resize_keep(count);
    executor.for_each(
        work.stretches.size(),
        [&](int64_t i) {
            const InOrder& one = work.stretches[i];
            write_stretch(work.arenas[static_cast<size_t>(one.arena)], one.stretch, begin, tree);
        },
        256);
    return true;
}

} // namespace graft::tree::detail
