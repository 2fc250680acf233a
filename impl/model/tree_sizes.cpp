// SPDX-License-Identifier: BSD-3-Clause
// See tree_sizes.hpp.
#include "model/tree_sizes.hpp"

#include "model/liu_feed.hpp"

#include <algorithm>
#include <cmath>

namespace graft::model {

namespace {

constexpr double group_share = 1.1; // of a group's own radius in that of its sources
constexpr double inner_leaf = 48;   // the rest of that radius grows as a power of leaf and this, by order
constexpr double leaf_growth[] = {0.62, 0.36, 0.5, 0.35, 0.24};
constexpr double cells_by_group = 0.4, cells_by_leaf = -0.3; // beside far ones
constexpr double all_by_group = 0.08, all_by_leaf = -0.06;   // where there are no far ones
constexpr double far_by_group = 0.1, far_by_leaf = -0.01;    // of one group

/// Seconds of one of each; a start is what a phase takes however small it is. Forces are in pairs beside.
struct Costs {
    double sort_particle_s = 0;
    double tree_start_s = 0, tree_particle_s = 0, tree_leaf_s = 0;
    double moments_start_s = 0, moments_particle_s = 0, moments_leaf_s = 0;
    double lists_start_s = 0, lists_group_s = 0, lists_entry_s = 0,
           lists_own_entry_s = 0; // own: of one group
    double forces_start_s = 0, forces_group_s = 0, pair_s = 0;
    double cell_pairs[5] = {},
           far_pairs[5] = {};                 // by order: a cell that meets a target; of a group's polynomial
    double entry_pairs = 0, source_pairs = 0; // a leaf that a group gathers, a particle that it brings near
};

constexpr Costs on_cpu = {.sort_particle_s = 2.7e-8,
                          .tree_leaf_s = 1.4e-7,
                          .moments_leaf_s = 1.4e-7,
                          .lists_group_s = 4.7e-6,
                          .pair_s = 1.01e-10,
                          .cell_pairs = {2.6, 5.2, 7.8, 13, 21},
                          .far_pairs = {103, 206, 309, 515, 824},
                          .entry_pairs = 134};
constexpr Costs on_gpu = {.tree_start_s = 1.36e-4,
                          .tree_particle_s = 1.69e-10,
                          .tree_leaf_s = 3.1e-10,
                          .moments_start_s = 8.3e-5,
                          .moments_particle_s = 6.4e-11,
                          .moments_leaf_s = 3.4e-10,
                          .lists_start_s = 9.4e-5,
                          .lists_entry_s = 1.22e-11,
                          .lists_own_entry_s = 9.4e-8, // a warp walks for a group, step after step
                          .forces_start_s = 8.5e-5,
                          .forces_group_s = 2.8e-8,
                          .pair_s = 4.83e-13,
                          .cell_pairs = {2.3, 2.6, 2.96, 7.4, 11.9},
                          .far_pairs = {33.5, 33.5, 33.5, 33.5, 33.5}, // at order 2 only
                          .source_pairs = 9.3};

size_t order_of(const TreeCounts& counts) {
    return static_cast<size_t>(std::clamp(counts.order, 0, 4));
}

/// Entries of all groups' lists of leaves.
double leaf_entries(const TreeCounts& counts) {
    return counts.targets > 0 ? counts.groups * counts.pairs / counts.targets * counts.leaves / counts.targets
                              : 0;
}

/// Entries of their lists of cells, without the far ones.
double cell_entries(const TreeCounts& counts) {
    return counts.targets > 0 ? counts.groups * counts.cells / counts.targets : 0;
}

std::vector<BlockShape> blocks_of(TreeKernels kernels, BlockShape given) {
    return kernels == TreeKernels::pairs_1d   ? blocks_1d(given)
           : kernels == TreeKernels::tiles_2d ? blocks_2d(given)
                                              : std::vector<BlockShape>{{}};
}

/// What a target meets of `all` particles, where it would meet so many of particles without end; and back.
double of_so_many(double met, double all) {
    return -all * std::expm1(-met / all);
}
double without_end(double met, double all) {
    return -all * std::log1p(-std::min(met / all, 0.999));
}

} // namespace

TreeCounts counts_at(const TreeCounts& known, TreeSizes sizes) {
    TreeCounts counts = known;
    counts.sizes = sizes;
    if (known.targets <= 0 || known.groups <= 0)
        return counts;
    const double by_group = static_cast<double>(sizes.group) / known.sizes.group;
    const double by_leaf = static_cast<double>(sizes.leaf) / known.sizes.leaf;
    const double power = 1.0 / known.dimension;
    const double radius = std::pow(without_end(known.pairs / known.targets, known.targets), power);
    const double own = std::min(group_share * std::pow(known.targets / known.groups, power), 0.9 * radius);
    const double grown =
        std::pow((sizes.leaf + inner_leaf) / (known.sizes.leaf + inner_leaf), leaf_growth[order_of(known)]);
    const double reach = own * std::pow(by_group, power) + (radius - own) * grown;
    counts.pairs = known.targets * of_so_many(std::pow(reach, known.dimension), known.targets);
    const bool far = known.far_cells > 0;
    counts.cells = known.cells * std::pow(by_group, far ? cells_by_group : all_by_group) *
                   std::pow(by_leaf, far ? cells_by_leaf : all_by_leaf);
    counts.far_cells =
        known.far_cells * std::pow(by_group, far_by_group - 1) * std::pow(by_leaf, far_by_leaf);
    counts.groups = std::max(1.0, known.groups / by_group);
    counts.leaves = std::max(1.0, known.leaves / by_leaf);
    if (known.targets < known.least_far_groups * sizes.group) { // they meet every target then
        counts.cells += counts.far_cells * known.targets / counts.groups;
        counts.far_cells = 0;
    }
    return counts;
}

PaperCounts paper_work(const TreeCounts& counts) {
    return {counts.sizes.leaf,    counts.sizes.group,
            counts.order,         counts.targets,
            counts.groups,        leaf_entries(counts),
            cell_entries(counts), counts.leaves > 0 ? counts.targets / counts.leaves : 0};
}

/// Seconds of liu2022's kernels.
static double paper_kernels_s(const TreeCounts& counts) {
    const bool one = counts.kernels == TreeKernels::pairs_1d;
    const BlockShape block{counts.sizes.block.x, one ? 0 : counts.sizes.block.y};
    const PaperCounts lists = paper_work(counts);
    if (counts.buffer > 0)
        return paper_feed_times(paper_feed_work(lists, block, counts.gpu), counts.buffer, {}, counts.gpu)
            .total_s();
    return one ? pairs_1d_s(lists, block.x, counts.gpu) : tiles_2d_s(lists, block, counts.gpu);
}

TreeTimes tree_times(const TreeCounts& counts, double ratio) {
    const Costs& cost = counts.kernels == TreeKernels::cpu ? on_cpu : on_gpu;
    const size_t order = order_of(counts);
    const double met = counts.targets > 0 ? counts.pairs / counts.targets : 0;
    const double visits = leaf_entries(counts) + cell_entries(counts) + counts.far_cells;
    TreeTimes times;
    times.sort_s = ratio * cost.sort_particle_s * counts.targets;
    times.tree_s = ratio * (cost.tree_start_s + cost.tree_particle_s * counts.targets +
                            cost.tree_leaf_s * counts.leaves);
    times.moments_s = ratio * (cost.moments_start_s + cost.moments_particle_s * counts.targets +
                               cost.moments_leaf_s * counts.leaves);
    times.lists_s =
        ratio * (cost.lists_start_s + cost.lists_group_s * counts.groups + cost.lists_entry_s * visits +
                 cost.lists_own_entry_s * visits / std::max(1.0, counts.groups));
    const double pairs = counts.pairs + cost.cell_pairs[order] * counts.cells +
                         cost.far_pairs[order] * counts.far_cells + cost.entry_pairs * leaf_entries(counts) +
                         cost.source_pairs * counts.groups * met;
    times.forces_s =
        ratio * (cost.forces_start_s +
                 (counts.kernels == TreeKernels::pairs_1d || counts.kernels == TreeKernels::tiles_2d
                      ? paper_kernels_s(counts)
                      : cost.pair_s * pairs + cost.forces_group_s * counts.groups));
    return times;
}

std::vector<TreeChoice> rank_sizes(const TreeCounts& known, const TreeGiven& given) {
    std::vector<TreeChoice> list;
    const auto add = [&](TreeSizes sizes) {
        const bool seen = std::any_of(list.begin(), list.end(),
                                      [&](const TreeChoice& one) { return one.counts.sizes == sizes; });
        if (seen)
            return;
        TreeCounts counts = sizes.leaf == known.sizes.leaf && sizes.group == known.sizes.group
                                ? known
                                : counts_at(known, sizes);
        counts.sizes = sizes;
        list.push_back({counts, tree_times(counts)});
    };
    add(known.sizes);
    for (const int32_t leaf : {16, 32, 64, 128})
        for (const int32_t group : {32, 64, 128, 256})
            for (const BlockShape block : blocks_of(known.kernels, given.block))
                if (group > 32 || known.kernels != TreeKernels::cpu)
                    add({given.leaf ? known.sizes.leaf : leaf, given.group ? known.sizes.group : group,
                         block});
    std::stable_sort(list.begin(), list.end(), [](const TreeChoice& a, const TreeChoice& b) {
        return a.times.total_s() < b.times.total_s();
    });
    return list;
}

} // namespace graft::model
