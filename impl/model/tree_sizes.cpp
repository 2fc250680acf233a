// See tree_sizes.hpp.
#include "model/tree_sizes.hpp"

#include <algorithm>
#include <cmath>

namespace graft::model {

namespace {

constexpr double group_share = 0.9;  // of a group's own radius in that of its sources
constexpr double leaf_growth = 0.15; // of the rest of that radius with the leaf
constexpr double cells_by_group = 0.5, cells_by_leaf = -0.3;
constexpr double far_by_group = -0.15, far_by_leaf = -0.1; // of one group

// In pairs, by order: a cell that meets a target, one that goes into a group's polynomial; a leaf that a
// group gathers.
constexpr double cell_pairs[] = {2.6, 5.2, 7.8, 13, 21};
constexpr double far_pairs[] = {103, 206, 309, 515, 824};
constexpr double entry_pairs = 134;

constexpr double pair_s = 1.01e-10, list_s = 4.7e-6, leaf_s = 1.4e-7, moments_s = 1.4e-7;
constexpr double sort_s = 2.7e-8; // of a particle

double part_of(double known, double now) {
    return now / known;
}

} // namespace

TreeCounts counts_at(const TreeCounts& known, TreeSizes sizes) {
    TreeCounts counts = known;
    counts.sizes = sizes;
    if (known.targets <= 0 || known.groups <= 0)
        return counts;
    const double by_group = part_of(known.sizes.group, sizes.group);
    const double by_leaf = part_of(known.sizes.leaf, sizes.leaf);
    const double power = 1.0 / known.dimension;
    const double radius = std::pow(known.pairs / known.targets, power);
    const double own = std::min(group_share * std::pow(known.targets / known.groups, power), 0.9 * radius);
    const double reach = own * std::pow(by_group, power) + (radius - own) * std::pow(by_leaf, leaf_growth);
    counts.pairs = known.targets * std::pow(reach, known.dimension);
    counts.cells = known.cells * std::pow(by_group, cells_by_group) * std::pow(by_leaf, cells_by_leaf);
    counts.far_cells =
        known.far_cells * std::pow(by_group, far_by_group - 1) * std::pow(by_leaf, far_by_leaf);
    counts.groups = std::max(1.0, known.groups / by_group);
    counts.leaves = std::max(1.0, known.leaves / by_leaf);
    return counts;
}

TreeTimes tree_times(const TreeCounts& counts, double ratio) {
    const auto order = static_cast<size_t>(std::clamp(counts.order, 0, 4));
    const double met = counts.targets > 0 ? counts.pairs / counts.targets : 0;
    const double entries = counts.targets > 0 ? counts.groups * met * counts.leaves / counts.targets : 0;
    TreeTimes times;
    times.sort_s = ratio * sort_s * counts.targets;
    times.tree_s = ratio * leaf_s * counts.leaves;
    times.moments_s = ratio * moments_s * counts.leaves;
    times.lists_s = ratio * list_s * counts.groups;
    times.forces_s = ratio * pair_s *
                     (counts.pairs + cell_pairs[order] * counts.cells + far_pairs[order] * counts.far_cells +
                      entry_pairs * entries);
    return times;
}

std::vector<TreeChoice> rank_sizes(const TreeCounts& known, bool leaf_given, bool group_given) {
    std::vector<TreeChoice> list;
    const auto add = [&](TreeSizes sizes) {
        const TreeCounts counts = sizes == known.sizes ? known : counts_at(known, sizes);
        list.push_back({counts, tree_times(counts)});
    };
    add(known.sizes);
    for (const int32_t leaf : {16, 32, 64, 128})
        for (const int32_t group : {64, 128, 256}) {
            const TreeSizes sizes{leaf_given ? known.sizes.leaf : leaf,
                                  group_given ? known.sizes.group : group};
            const bool seen = std::any_of(list.begin(), list.end(),
                                          [&](const TreeChoice& one) { return one.counts.sizes == sizes; });
            if (!seen)
                add(sizes);
        }
    std::stable_sort(list.begin(), list.end(), [](const TreeChoice& a, const TreeChoice& b) {
        return a.times.total_s() < b.times.total_s();
    });
    return list;
}

} // namespace graft::model
