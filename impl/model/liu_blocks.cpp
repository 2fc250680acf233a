// SPDX-License-Identifier: BSD-3-Clause
// See liu_blocks.hpp.
#include "model/liu_blocks.hpp"

#include "model/machine.hpp"

#include <algorithm>
#include <cmath>

namespace graft::model {

namespace {

constexpr double warp = 32;
constexpr int least_threads = 32;
constexpr double most_blocks = 32; // of a multiprocessor
// Threads that are on a multiprocessor at a time, by the kernels' registers.
constexpr double resident_2d = 65536 / 40.0, resident_1d = 65536 / 48.0;

// Cycles of a multiprocessor a count, in the order of the terms; fitted to 30 and 110 evaluations on an H200
// (4.4 and 3.9 % median error). 1-D: a warp's meeting of a cell and its atomic writes go together, the fit
// cannot part them.
constexpr PaperTerms cost_1d = {1570, 1e4, 154, 0, 0, 0};
constexpr PaperTerms cost_2d = {173, 3130, 23.2, 3.5, 2.96, 6.84};

double blocks_at_once(double threads, double resident) {
    return std::clamp(std::floor(resident / threads), 1.0, most_blocks);
}

double targets_of(const PaperCounts& work) {
    return work.groups > 0 ? work.targets / work.groups : 0;
}

/// The most particles among `count` leaves: of evenly spread numbers with the mean that is known and N_leaf
/// at most.
double largest_leaf(const PaperCounts& work, double count) {
    const double most = std::max<double>(work.most_in_leaf, work.sources);
    const double least = std::clamp(2 * work.sources - most, 0.0, most);
    return most - (most - least) / (count + 1);
}

/// `entries` of all groups in chunks of BX; node lists have no particles.
PaperTerms tiles_of(const PaperCounts& work, BlockShape block, double entries, bool leaves) {
    const double a_group = work.groups > 0 ? entries / work.groups : 0;
    if (a_group <= 0)
        return {};
    const double x = block.x, y = block.y, mine = targets_of(work);
    const double blocks = work.groups * std::max(1.0, a_group / x + 0.5);
    const double warps = std::ceil(x * y / warp);
    const double at_once = blocks_at_once(warp * warps, resident_2d);
    const double rounds = work.most_in_group <= block.y ? 1 : std::max(1.0, mine / y + 0.5);
    const double busy = x >= warp ? mine * x / warp : std::min(warps * rounds, mine * x / warp + rounds / 2);
    const double summing = x >= warp ? mine : busy; // warps with a thread of x = 0
    const double sources = leaves ? largest_leaf(work, std::min({x, warp, a_group})) : 0;
    // Warps of which some thread has a source: of the last chunk of a row wider than a warp not all.
    const double fed = x > warp ? work.groups * (a_group / warp + 0.5) * mine : blocks * busy;
    return {blocks * warps,
            blocks * rounds / (at_once * at_once),
            leaves ? 0 : blocks * busy,
            fed * sources,
            blocks * summing * x,
            blocks * mine};
}

PaperTerms sum_of(PaperTerms a, const PaperTerms& b) {
    for (size_t k = 0; k < a.size(); ++k)
        a[k] += b[k];
    return a;
}

double seconds(const PaperTerms& terms, const PaperTerms& cost, const PaperGpu& gpu) {
    double cycles = 0;
    for (size_t k = 0; k < terms.size(); ++k)
        cycles += cost[k] * terms[k];
    return cycles / (gpu.multiprocessors * gpu.clock_hz);
}

/// Cells by their slots: 13, 26 and 45 with a root (study/papers/paper_lists_gpu.cuh), of which order 2 was measured.
PaperTerms by_order(const PaperCounts& work, PaperTerms terms) {
    constexpr double slots_of[] = {14, 27, 46};
    terms[2] *= slots_of[std::clamp(work.order, 0, 2)] / slots_of[2];
    return terms;
}

} // namespace

PaperGpu paper_gpu(const Machine& machine) {
    PaperGpu gpu;
    const auto take = [](double& to, double known) { to = known > 0 ? known : to; };
    take(gpu.multiprocessors, machine.gpu.multiprocessors);
    take(gpu.clock_hz, machine.gpu.clock_hz);
    take(gpu.launch_s, machine.gpu.launch_s);
    take(gpu.kernel_s, machine.gpu.kernel_s);
    take(gpu.copy_bytes_per_s, machine.link.bandwidth_bytes_per_s);
    return gpu;
}

PaperTerms pairs_1d_terms(const PaperCounts& work, int threads) {
    const double mine = targets_of(work), leaves = work.leaf_entries / warp, nodes = work.node_entries / warp;
    const double there = threads * blocks_at_once(threads, resident_1d) / warp;
    return by_order(work, {leaves + nodes, (leaves + nodes) * mine / there, nodes * mine,
                           leaves * mine * largest_leaf(work, warp), 0, warp * (leaves + nodes) * mine});
}

PaperTerms tiles_2d_terms(const PaperCounts& work, BlockShape block) {
    return by_order(work, sum_of(tiles_of(work, block, work.leaf_entries, true),
                                 tiles_of(work, block, work.node_entries, false)));
}

double pairs_1d_s(const PaperCounts& work, int threads, const PaperGpu& gpu) {
    return seconds(pairs_1d_terms(work, threads), cost_1d, gpu);
}

double tiles_2d_s(const PaperCounts& work, BlockShape block, const PaperGpu& gpu) {
    return seconds(tiles_2d_terms(work, block), cost_2d, gpu);
}

std::vector<BlockShape> blocks_1d(BlockShape given) {
    if (given.x > 0)
        return {{std::min(given.x, most_block_threads), 0}};
    return {{64, 0}, {128, 0}, {256, 0}, {512, 0}, {1024, 0}};
}

std::vector<BlockShape> blocks_2d(BlockShape given) {
    std::vector<BlockShape> list;
    for (const int x : {4, 8, 16, 32, 64})
        for (const int y : {4, 8, 16, 32, 64, 128}) {
            const BlockShape block{given.x > 0 ? given.x : x, given.y > 0 ? given.y : y};
            const int threads = block.x * block.y;
            const bool fits =
                threads <= most_block_threads && (threads >= least_threads || given.x > 0 || given.y > 0);
            if (fits && std::find(list.begin(), list.end(), block) == list.end())
                list.push_back(block);
        }
    if (list.empty()) // the kernel refuses it with a message
        list.push_back({given.x, given.y});
    return list;
}

} // namespace graft::model
