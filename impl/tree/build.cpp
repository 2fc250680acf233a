// SPDX-License-Identifier: BSD-3-Clause
// Gather and boxes: what both tree types share. See build.hpp.
#include "tree/build.hpp"

#include "backend/reduce.hpp"
#include "core/error.hpp"
#include "core/timer.hpp"
#include "tree/build_steps.hpp"
#include "tree/tree_checks.hpp"

#include <limits>

namespace graft::tree {

using core::fail;
using core::Status;

namespace {

void check(const TreeOptions& options, int64_t n) {
    check_options(options, n);
    if (options.has_root && options.type == TreeType::orb)
        fail(Status::unsupported, "tree: a root cube belongs to the octree, found tree.type orb. "
                                  "Leave the root away, or use the octree");
    if (options.two_phase && options.top_depth < 1)
        fail(Status::argument, "study.top_depth: expected at least 1 level of a top tree, found %d",
             options.top_depth);
    if (n > std::numeric_limits<int32_t>::max())
        fail(Status::unsupported,
             "tree: one process can sort at most 2147483647 particles, found %lld. Use more processes",
             static_cast<long long>(n));
}

/// The particles in tree order.
void gather(const backend::Executor& executor, const ParticleView& particles, Tree& tree) {
    const int64_t n = particles.n;
    const struct {
        const double* from;
        core::Buffer<double>& to;
    } optional[] = {{particles.charge, tree.charge}, {particles.softening, tree.softening}};
    tree.x.resize(n);
    tree.y.resize(n);
    tree.z.resize(n);
    for (const auto& array : optional)
        array.to.resize(array.from != nullptr ? n : 0);
    executor.for_blocks(n, 4096, [&](int64_t begin, int64_t end, int) {
        const int32_t* order = tree.order.data();
        for (int64_t i = begin; i < end; ++i) {
            tree.x[i] = particles.x[order[i]];
            tree.y[i] = particles.y[order[i]];
        }
        for (int64_t i = begin; i < end; ++i)
            tree.z[i] = particles.z != nullptr ? particles.z[order[i]] : 0.0;
        for (const auto& array : optional)
            for (int64_t i = begin; array.from != nullptr && i < end; ++i)
                array.to[i] = array.from[order[i]];
    });
}

void clear(Tree& tree) {
    tree.nodes.clear();
    tree.boxes.clear();
    tree.edges.clear();
    tree.keys.clear();
    tree.level_offset.clear();
    tree.order.clear();
    tree.root_keys.clear();
    tree.root_levels.clear();
    tree.root_parents.clear();
    tree.root_edge = 0;
}

} // namespace

namespace detail {

geometry::Box bounding_box(const backend::Executor& executor, const ParticleView& particles,
                           core::Buffer<geometry::Box>& partial) {
    return backend::reduce(
        executor, particles.n, geometry::Box{},
        [&](int64_t begin, int64_t end) {
            geometry::Box box;
            for (int64_t i = begin; i < end; ++i)
                box.include(particles.x[i], particles.y[i], particles.z != nullptr ? particles.z[i] : 0.0);
            return box;
        },
        [](geometry::Box sum, const geometry::Box& next) {
            sum.include(next);
            return sum;
        },
        partial);
}

void bound_nodes(const backend::Executor& executor, Tree& tree) {
    tree.boxes.resize(tree.nodes.size());
    executor.for_each(
        tree.node_count(),
        [&](int64_t i) {
            const Node& node = tree.nodes[i];
            if (node.child_count > 0)
                return;
            geometry::Box box;
            for (int64_t p = node.first; p < node.first + node.count; ++p)
                box.include(tree.x[p], tree.y[p], tree.z[p]);
            tree.boxes[i] = box;
        },
        256);
    for (int level = tree.levels() - 1; level >= 0; --level) {
        const int32_t begin = tree.level_offset[level];
        executor.for_each(
            tree.level_offset[level + 1] - begin,
            [&](int64_t i) {
                const Node& node = tree.nodes[begin + i];
                if (node.child_count == 0)
                    return;
                geometry::Box box;
                for (int32_t c = 0; c < node.child_count; ++c)
                    box.include(tree.boxes[node.first_child + c]);
                tree.boxes[begin + i] = box;
            },
            1024);
    }
}

} // namespace detail

void TreeBuilder::build(const backend::Executor& executor, const TreeOptions& options,
                        const ParticleView& view, Tree& tree, BuildTimes& times) {
    core::Timer timer;
    times = {};
    check(options, view.n);
    ParticleView particles = view;
    if (options.dimension == 2)
        particles.z = nullptr;
    clear(tree);
    tree.options = options;
    const geometry::Box box = detail::bounding_box(executor, particles, work_.block_boxes);
    check_span(box.empty() ? 0 : box.longest_edge());
    const bool octree = options.type == TreeType::octree;
    tree.order.resize(particles.n);
    if (octree)
        detail::sort_by_key(executor, particles, box, work_, tree);
    else
        detail::sort_by_bisection(executor, particles, work_, tree);
    gather(executor, particles, tree);
    times.sort_s = timer.lap();
    if (octree)
        detail::split_cells(executor, work_, tree, times);
    else
        detail::split_bisections(executor, work_, tree);
    detail::bound_nodes(executor, tree);
    if (!octree) {
        tree.edges.resize(tree.nodes.size());
        for (int64_t i = 0; i < tree.nodes.size(); ++i)
            tree.edges[i] = tree.boxes[i].longest_edge();
    }
    times.tree_s = timer.lap();
}

} // namespace graft::tree
