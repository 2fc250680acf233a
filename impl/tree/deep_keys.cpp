// SPDX-License-Identifier: BSD-3-Clause
// Depth beyond the key: cells of the last key level that hold too many particles at different places.
//
// Such a cell gets a key frame of its own, the tight cube of its particles, and the tree goes on below it as
// below a root. Each round gains at least 2^20 (2-D: 2^30) in depth, so any two doubles part after a few
// rounds, and the cost is one more sort of the particles in such cells.
#include "geometry/morton.hpp"
#include "tree/build_steps.hpp"

#include <algorithm>
#include <atomic>

namespace graft::tree::detail {

namespace {

constexpr int64_t large_cell = 1 << 16; // sorted by all threads together

bool needs_keys(const Tree& tree, const Node& node) {
    return node.count > tree.options.leaf && tree.keys[node.first] == tree.keys[node.first + node.count - 1];
}

geometry::Box box_of(const Tree& tree, const Node& node) {
    geometry::Box box;
    for (int64_t i = node.first; i < node.first + node.count; ++i)
        box.include(tree.x[i], tree.y[i], tree.z[i]);
    return box;
}

/// to[i] = from the place that the i-th sorted key came from.
template <typename T>
void permute(const backend::Executor& executor, const Node& node, Workspace& work, core::Buffer<T>& values) {
    if (values.empty())
        return;
    // 8 bytes a particle whatever T is: cells are permuted at the same time, and may be at different arrays
    T* copy = reinterpret_cast<T*>(work.copy.data() + node.first * static_cast<int64_t>(sizeof(double)));
    executor.for_each(node.count, [&](int64_t i) { copy[i] = values[work.keyed[node.first + i].place]; });
    executor.for_each(node.count, [&](int64_t i) { values[node.first + i] = copy[i]; });
}

/// Sorts by (key, place); many by radix on all threads, few by comparison.
void sort_cell(const backend::Executor& executor, Workspace::Keyed* keyed, int64_t count, Workspace& work) {
    if (count < large_cell) {
        std::sort(keyed, keyed + count, [](const Workspace::Keyed& a, const Workspace::Keyed& b) {
            return a.key != b.key ? a.key < b.key : a.place < b.place;
        });
        return;
    }
    const int64_t first = keyed[0].place; // places are consecutive before the sort
    work.cell_keys.resize(count);
    work.cell_places.resize(count);
    executor.for_each(count, [&](int64_t i) {
        work.cell_keys[i] = keyed[i].key;
        work.cell_places[i] = static_cast<int32_t>(i);
    });
    work.sorter.sort(executor, work.cell_keys, work.cell_places);
    executor.for_each(count, [&](int64_t i) { keyed[i] = {work.cell_keys[i], first + work.cell_places[i]}; });
}

void key_cell(const backend::Executor& executor, int32_t index, Workspace& work, Tree& tree) {
    const Node& node = tree.nodes[index];
    const geometry::Box box = box_of(tree, node);
    if (box.longest_edge() < smallest_edge)
        return;
    const geometry::KeyFrame frame(box.lower, box.longest_edge(), tree.options.dimension);
    Workspace::Keyed* keyed = work.keyed.data() + node.first;
    executor.for_each(node.count, [&](int64_t i) {
        const int64_t place = node.first + i;
        keyed[i] = {frame.key(tree.x[place], tree.y[place], tree.z[place]), place};
    });
    sort_cell(executor, keyed, node.count, work);
    executor.for_each(node.count, [&](int64_t i) { tree.keys[node.first + i] = keyed[i].key; });
    permute(executor, node, work, tree.order);
    permute(executor, node, work, tree.x);
    permute(executor, node, work, tree.y);
    permute(executor, node, work, tree.z);
    permute(executor, node, work, tree.charge);
    permute(executor, node, work, tree.softening);
    tree.edges[index] = box.longest_edge();
    work.base_levels[index] = 0;
}

} // namespace

void key_again(const backend::Executor& executor, int32_t begin, int32_t end, Workspace& work, Tree& tree) {
    std::atomic<bool> any{false}; // rarely: then a serial pass keeps the marks in order
    executor.for_each(
        end - begin,
        [&](int64_t i) {
            if (needs_keys(tree, tree.nodes[begin + i]))
                any.store(true, std::memory_order_relaxed);
        },
        256);
    if (!any)
        return;
    work.marks.clear();
    for (int32_t i = begin; i < end; ++i)
        if (needs_keys(tree, tree.nodes[i]))
            work.marks.push_back(i);
    work.keyed.resize(tree.order.size());
    work.copy.resize(tree.order.size() * static_cast<int64_t>(sizeof(double)));
    for (const int32_t index : work.marks)
        if (tree.nodes[index].count >= large_cell)
            key_cell(executor, index, work, tree);
    const backend::Executor serial{executor.memory, 1};
    executor.for_each(
        work.marks.size(),
        [&](int64_t i) {
            if (tree.nodes[work.marks[i]].count < large_cell)
                key_cell(serial, work.marks[i], work, tree);
        },
        1);
}

} // namespace graft::tree::detail
