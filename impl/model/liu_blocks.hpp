// SPDX-License-Identifier: BSD-3-Clause
// liu2022's kernels (section 4): seconds by shape of block.
//
// A kernel takes cycles of the multiprocessors: a sum of terms, each a count that follows from the lists and
// the block times a cost that was fitted once (docs/lab/gpu/evaluate.md). The counts are those of
// study/papers/liu_1d_gpu and device_tiles_2d: what a block does before its first pair, blocks that are on a
// multiprocessor at a time, lanes idle because a leaf or a row of the block has less than another, sums
// across BX, atomic writes. Orders and particles a leaf come from an evaluation (model/tree_sizes.hpp).
#pragma once

#include <array>
#include <vector>

namespace graft::model {

struct Machine;

/// A block of threads. 2-D: x sources, y targets; 1-D: x threads, y is 0.
struct BlockShape {
    int x = 0, y = 0;
    bool operator==(const BlockShape&) const = default;
};

/// His optima, which the kernels take where nothing else is said (figures 4.4 and 4.7).
inline constexpr BlockShape paper_pairs_1d{256, 0}, paper_tiles_2d{16, 32};
inline constexpr int most_block_threads = 1024;

/// What the kernels need of a machine; as built in: an H200.
struct PaperGpu {
    double multiprocessors = 132, clock_hz = 1.98e9;
    double launch_s = 3.15e-6, kernel_s = 2.7e-6; // gpu.launch_s, gpu.kernel_s
    double copy_bytes_per_s = 5.5e10;             // link, pinned
};
/// Numbers that the machine does not have stay as built in.
PaperGpu paper_gpu(const Machine& machine);

/// The lists of one evaluation.
struct PaperCounts {
    int most_in_leaf = 32, most_in_group = 32; // N_leaf, N_group
    int order = 2;                             // of the cells
    double targets = 0, groups = 0;
    double leaf_entries = 0, node_entries = 0; // of all groups
    double sources = 0;                        // of a leaf, on average
};

/// What the kernels count: warps that begin; blocks' latencies that other blocks on the multiprocessor do not
/// hide; meetings of a warp with cells, and with particles of leaves; steps of the sums across BX; atomic
/// writes.
using PaperTerms = std::array<double, 6>;
PaperTerms pairs_1d_terms(const PaperCounts& work, int threads);
PaperTerms tiles_2d_terms(const PaperCounts& work, BlockShape block);

/// Seconds of the kernels on whole lists.
double pairs_1d_s(const PaperCounts& work, int threads, const PaperGpu& gpu);
double tiles_2d_s(const PaperCounts& work, BlockShape block, const PaperGpu& gpu);

/// Blocks worth a thought: powers of two, 32 threads (1-D: 64) to 1,024. A side that is not 0 in `given`
/// stays.
std::vector<BlockShape> blocks_1d(BlockShape given);
std::vector<BlockShape> blocks_2d(BlockShape given);

} // namespace graft::model
