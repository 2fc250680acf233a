// SPDX-License-Identifier: BSD-3-Clause
// How N_leaf and N_group, and the blocks of liu2022's kernels, change the work of a tree evaluation: what one
// evaluation counted, carried over to other sizes.
//
// Laws, fitted to 350 counts (Plummer spheres and even cubes of 2e4 to 4e6, accuracies 1e-2 to 1e-5, orders
// 0 to 4, leaves of 16 to 128, groups of 64 to 256; docs/lab/cpu.md): sources that a target meets
// fill a ball of radius ~ group^(1/3) + what leaf and criterion add, so the root of their number is a sum;
// cells follow powers of both. Seconds: fitted to 42 evaluations on one core of a busy AVX-512 machine (12 %
// rms, most of it the machine's), and to a sweep on an H200 (docs/lab/gpu/evaluate.md); only their ratios
// matter once an evaluation has been timed. Source of the question: liu2022, figures 4.2, 4.4, 4.7.
#pragma once

#include "model/liu_blocks.hpp"

#include <cstdint>
#include <vector>

namespace graft::model {

/// Whose seconds: a core's, our GPU kernels', or those of liu2022's GPU kernels.
enum class TreeKernels : int32_t { cpu = 0, gpu = 1, pairs_1d = 2, tiles_2d = 3 };

struct TreeSizes {
    int32_t leaf = 0, group = 0; // N_leaf, N_group: most particles, most targets
    BlockShape block = {};       // of liu2022's kernels; of others 0
    bool operator==(const TreeSizes&) const = default;
};

/// What an evaluation with these sizes counted, or would count.
struct TreeCounts {
    TreeSizes sizes;
    int32_t dimension = 3, order = 2;
    double targets = 0, groups = 0, leaves = 0;
    double pairs = 0, cells = 0, far_cells = 0; // P2P, M2P, M2L
    TreeKernels kernels = TreeKernels::cpu;
    double least_far_groups = 0; // targets over N_group from which on there are far cells
    PaperGpu gpu;                // of liu2022's kernels
    double buffer = 0;           // that the host feeds them through; 0: lists are on the GPU
};

struct TreeTimes {
    double sort_s = 0, tree_s = 0, moments_s = 0, lists_s = 0, forces_s = 0;
    double total_s() const { return sort_s + tree_s + moments_s + lists_s + forces_s; }
};

/// The counts at other sizes. Within 6 % (median) and 24 % (p90) of the work that was counted there.
TreeCounts counts_at(const TreeCounts& known, TreeSizes sizes);

/// The lists of these counts as liu2022's kernels take them.
PaperCounts paper_work(const TreeCounts& counts);

/// Seconds on one core, or one GPU, of the machines of the fits; `ratio` is another machine's over that
/// one's.
TreeTimes tree_times(const TreeCounts& counts, double ratio = 1);

struct TreeChoice {
    TreeCounts counts;
    TreeTimes times;
};

/// What the user has chosen, which stays as it is in `known`; block: 0 where it is not the user's.
struct TreeGiven {
    bool leaf = false, group = false;
    BlockShape block = {};
};

/// All sizes worth a thought (leaf 16 to 128, group 64 to 256, on a GPU from 32 on, by twos, each with all
/// blocks of kernels that have them), the least predicted time first.
std::vector<TreeChoice> rank_sizes(const TreeCounts& known, const TreeGiven& given);

} // namespace graft::model
