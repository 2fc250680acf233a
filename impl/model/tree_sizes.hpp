// How N_leaf and N_group change the work of a tree evaluation: what one evaluation counted, carried over to
// other sizes.
//
// Laws, fitted to 192 counts (Plummer spheres and even cubes of 2e4 and 1e5, accuracies 1e-2 to 1e-5, orders
// 1, 2, 4, leaves of 16 to 128, groups of 64 to 256; impl/docs/cpu-notes.md): sources that a target meets
// fill a ball of radius ~ group^(1/3) + what leaf and criterion add, so the root of their number is a sum;
// cells follow powers of both. Seconds: fitted to 42 evaluations on one core of a busy AVX-512 machine (12 %
// rms, most of it the machine's); only their ratios matter once an evaluation has been timed. Source of the
// question: liu2022, figures 4.2, 4.4, 4.7.
#pragma once

#include <cstdint>
#include <vector>

namespace graft::model {

struct TreeSizes {
    int32_t leaf = 0, group = 0; // N_leaf, N_group: most particles, most targets
    bool operator==(const TreeSizes&) const = default;
};

/// What an evaluation with these sizes counted, or would count.
struct TreeCounts {
    TreeSizes sizes;
    int32_t dimension = 3, order = 2;
    double targets = 0, groups = 0, leaves = 0;
    double pairs = 0, cells = 0, far_cells = 0; // P2P, M2P, M2L
};

struct TreeTimes {
    double sort_s = 0, tree_s = 0, moments_s = 0, lists_s = 0, forces_s = 0;
    double total_s() const { return sort_s + tree_s + moments_s + lists_s + forces_s; }
};

/// The counts at other sizes. Within 8 % (median) and 20 % (p90) of the work that was counted there.
TreeCounts counts_at(const TreeCounts& known, TreeSizes sizes);

/// Seconds on one core of the machine of the fit; `ratio` is another machine's over that one's.
TreeTimes tree_times(const TreeCounts& counts, double ratio = 1);

struct TreeChoice {
    TreeCounts counts;
    TreeTimes times;
};

/// All sizes worth a thought (leaf 16 to 128, group 64 to 256 by twos; a size that is given stays as it is in
/// `known`), the least predicted time first.
std::vector<TreeChoice> rank_sizes(const TreeCounts& known, bool leaf_given, bool group_given);

} // namespace graft::model
