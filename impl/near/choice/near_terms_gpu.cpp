// SPDX-License-Identifier: BSD-3-Clause
// Terms of a GPU's phases and the numbers of one, see near_terms_gpu.hpp.
#include "near/choice/near_terms_gpu.hpp"

#include "near/tiles/lanes_per_target.hpp"
#include "near/tiles/tile_shapes.hpp"

#include <algorithm>
#include <cmath>

namespace graft::near {

namespace {

constexpr double line_bytes = 64;
constexpr double level_one_bytes = 8e4;      // of a multiprocessor's first level, for the sources of a warp
constexpr double level_two_bytes = 5e7;      // of the device's second level
constexpr double piece_boxes = 1024;         // that a thread walks over at a time (source_runs.cpp)
constexpr double box_neighbours = 12;        // neighbours that a box's own part of the walk takes as long as
constexpr double kept_block_bytes = 1 << 25; // the C library's most: larger blocks are the system's each time
constexpr double near_core_bytes = 4e6;      // of the caller's arrays in a core's caches
constexpr double threads_at_once = 6e4;      // that sum while the longest one does

double full_boxes(const NearTimeInput& p) {
    if (p.full_boxes > 0 || p.boxes <= 0)
        return p.full_boxes;
    return p.boxes * -std::expm1(-p.targets / p.boxes); // even points: occupation is Poisson's
}

/// Share of `bytes` that a cache of this size has not.
double beyond(double bytes, double cache) {
    return bytes > cache ? 1 - cache / bytes : 0;
}

/// Sources that a lane of tiled meets one after another, at most: directly, through shared memory, and these
/// times its targets.
struct TileChains {
    double direct = 0, shared = 0, shared_pairs = 0;
};

TileRule rule_of(const NearTimeInput& p) {
    constexpr double radial[] = {10, 20, 25, 50, 10}; // as in layout_tiled_gpu.cu
    constexpr double precision[] = {1, 1.4, 2.2};
    TileRule rule;
    rule.pair =
        (radial[std::clamp(p.kernel, 0, 4)] + 4.0 * p.components) * precision[std::clamp(p.precision, 0, 2)];
    rule.values = p.components * ((p.outputs & 1) + ((p.outputs & 2) != 0 ? p.dimension : 0));
    rule.every = p.kernel == 0 && p.precision == 0 && p.components == 1;
    rule.most = rule.every ? 8 : (p.components <= 2 ? 4 : 2);
    return rule;
}

/// Where the largest of so many normal deviates is likeliest (Cramer 1946, 28.6).
double likeliest_most(double count) {
    constexpr double four_pi = 12.566370614359172;
    if (count < 3)
        return 0;
    const double twice = std::sqrt(2 * std::log(count));
    return twice - (std::log(std::log(count)) + std::log(four_pi)) / (2 * twice);
}

/// Whether all small boxes take blocks of threads, so that none is left to a warp beside them: the sources
/// of many boxes together are normal.
bool blocks_alone(double sources, double neighbours) {
    const double away = (block_sources(neighbours) - sources) / std::sqrt(std::max(1.0, sources));
    return 0.5 * std::erfc(away * 0.7071067811865476) >= block_share;
}

/// Boxes of two deviations less to two more than the mean number of targets, and the fullest one: shapes
/// change with it, and the slowest warp is what a kernel waits for.
TileChains chains_of(const NearTimeInput& p, double full) {
    TileChains chains;
    const TileRule rule = rule_of(p);
    const double neighbours = p.boxes > 0 ? p.neighbours / p.boxes : 1; // of a box
    const int32_t least_kind = p.targets > 0 && blocks_alone(p.pairs / p.targets, neighbours) ? 0 : -1;
    const auto add = [&](double targets, double sources) {
        const auto n = static_cast<int32_t>(std::max(1.0, std::round(targets)));
        const TileShape shape = best_tile_shape(
            n, std::max(1.0, sources), std::max(least_kind, block_kind(n, sources, neighbours)), rule);
        const double own =
            sources /
            (shape.block >= 0 ? block_streams(tile_blocks[shape.block], n, shape.targets) : 1 << shape.log_y);
        if (!shape.shared && shape.block < 0) {
            chains.direct = std::max(chains.direct, own);
            return;
        }
        chains.shared = std::max(chains.shared, own);
        chains.shared_pairs = std::max(chains.shared_pairs, own * shape.targets);
    };
    if (full <= 0 || p.targets <= 0)
        return chains;
    const double mean = p.targets / full, sources = p.pairs / p.targets;
    for (const double deviations : {-2.0, -1.0, 0.0, 1.0, 2.0})
        add(mean + deviations * std::sqrt(mean), sources);
    // The emptiest neighbourhood: where others take blocks it may be left to a warp, which is late.
    add(mean, sources - std::sqrt(sources) * likeliest_most(full));
    add(p.most_targets, p.most_sources);
    return chains;
}

/// Lane slots of tiled where pairs of boxes are summed once: of all warps, and those that are left empty
/// while the last warps end, of so many at once. The longest begin first, but only among those of one T.
double slots_once(const NearTimeInput& p, double full, double warps) {
    constexpr double last = 0.36; // of the longest's, for the fewer run, the faster is each
    if (full <= 0 || p.targets <= 0)
        return 0;
    // d, r^2 and the root of a pair serve both; weights, potentials and gradients are each side's.
    const double potential = (p.outputs & 1) != 0 ? 1 : 0, slope = (p.outputs & 2) != 0 ? 1 : 0;
    const double common = 2 * p.dimension + 1 + 2 * slope;
    const double each = potential + slope * (1 + p.dimension);
    const double mean = p.targets / full, others = std::max(0.0, p.pairs / p.targets - mean);
    const auto of_box = [&](double points, double later) {
        const auto n = static_cast<int32_t>(points), units = (n + once_unit - 1) / once_unit;
        return units * once_slots((n + units - 1) / units, n, later, common + 2 * each, common + each);
    };
    const double deviation = std::sqrt(mean), largest = mean + 4 * deviation;
    double weights = 0, all = 0;
    for (auto k = static_cast<int64_t>(std::max(1.0, std::floor(mean - 4 * deviation)));
         static_cast<double>(k) <= largest; ++k) {
        const auto n = static_cast<double>(k);
        const double weight = std::exp(-0.5 * (n - mean) * (n - mean) / mean);
        weights += weight;
        all += weight * of_box(n, others / 2);
    }
    // In Morton order a box may come before all of its neighbours.
    const double most = std::clamp(mean, 1.0, static_cast<double>(once_unit));
    const double longest = once_slots(static_cast<int32_t>(most), most, std::max(0.0, p.most_sources - mean),
                                      common + 2 * each, common + each);
    return all * full / weights + last * warps * longest;
}

/// Whether the layout's plan knows what boxes without targets have around them.
bool by_box(NearLayout layout) {
    return layout == NearLayout::indexed || layout == NearLayout::replicated_group;
}

/// Neighbours that the host's walk meets on the thread that ends last.
double walk_of(NearLayout layout, const NearTimeInput& p, double full, double threads) {
    if (p.boxes <= 0)
        return 0;
    const double pieces = std::ceil(p.boxes / piece_boxes);
    const double share = std::min(1.0, piece_boxes / p.boxes * std::ceil(pieces / std::max(1.0, threads)));
    return (p.neighbours + box_neighbours * p.boxes) * (by_box(layout) ? 1 : full / p.boxes) * share;
}

/// Bytes of the tables that the host makes and sends: 8 a run; offsets, sources and own places of the boxes.
/// Twice as many where the runs are a block that the system clears.
double table_bytes(NearLayout layout, const NearTimeInput& p, double full) {
    constexpr double box_bytes = 24, run_bytes = 8;
    const double boxes = by_box(layout) && full > 0 ? p.boxes / full : 1; // for each with targets
    const double runs_bytes = run_bytes * p.runs * boxes;
    return (box_bytes * p.boxes + runs_bytes) * (runs_bytes > kept_block_bytes ? 2 : 1);
}

/// Targets whose numbers are not in a core's caches when they are brought into the boxes' order or back.
double far_targets(const NearTimeInput& p) {
    return p.targets * beyond(2 * p.targets * 8, near_core_bytes);
}

/// Bytes of a table of offsets that the layout of which the numbers were measured has less (more: negative).
double offset_bytes(NearLayout layout, const NearTimeInput& p) {
    constexpr double offset = 8; // of a box
    return layout == NearLayout::replicated_packed         ? offset * p.boxes
           : layout == NearLayout::replicated_group_padded ? -offset * p.boxes
                                                           : 0;
}

model::NearTerms collection_terms(NearLayout form, const NearTimeInput& p, const NearGpuSeconds& machine) {
    const NearLayout layout = near_measured_as(form);
    const double full = full_boxes(p);
    const bool tiles = layout == NearLayout::tiled || layout == NearLayout::tiled_split;
    const double lines = p.layout_bytes / line_bytes;
    const bool drivers = p.layout_bytes > machine.kept_bytes;
    return {1,
            walk_of(layout, p, full, machine.host_threads),
            p.targets,
            table_bytes(layout, p, full) + offset_bytes(form, p),
            layout == NearLayout::tiled_once ? p.neighbours : (tiles ? full : lines),
            far_targets(p),
            drivers ? lines : 0,
            drivers ? 1.0 : 0.0};
}

/// Kernels that bring charges into the boxes' order and into records.
model::NearTerms charges_terms(NearLayout layout, const NearTimeInput& p) {
    constexpr double lanes = 32;
    const double full = full_boxes(p), pairs = p.pairs * p.components;
    const double runs = full > 0 ? p.runs / full : 0; // of a box with targets
    switch (layout) {
    case NearLayout::replicated: // a warp a record: stores of fewer than its lanes hide behind what it takes
        return {1, 0, p.targets, runs * p.targets, std::hypot(pairs, lanes * p.targets) - lanes * p.targets,
                0, 0, 0};
    case NearLayout::replicated_interleaved: { // lanes of boxes whose runs end apart store apart
        const double together = full > 0 ? p.targets / full : 1;
        return {1, p.most_sources, p.targets, 0, pairs, pairs / std::sqrt(std::max(1.0, together)), 0, 0};
    }
    case NearLayout::replicated_group: // a warp a box, full or not, that steps through its runs
        return {1, p.most_sources, p.targets, p.boxes, p.gathered * p.components, runs * p.boxes, 0, 0};
    default:
        return {1, 0, p.sources, 0, 0, 0, 0, 0};
    }
}

/// In the order of near_terms_gpu.hpp.
model::NearTerms kernel_terms(NearLayout layout, const NearTimeInput& p, const NearGpuSeconds& machine) {
    const double slot_s = machine.slot_s, chain_s = machine.chain_s;
    const double full = full_boxes(p), chain = p.most_sources;
    const double steps = full > 0 ? p.runs / full : 0;
    model::NearTerms terms = {1, chain * chain_s, p.targets, p.runs, p.pairs * slot_s, 0, 0, 0};
    const auto waiting = [](double threads) { return std::max(0.0, threads - threads_at_once); };
    switch (layout) {
    case NearLayout::indexed: {
        const double source_bytes = (p.dimension + p.components) * p.number_bytes();
        const double warp_bytes = std::min(32 * p.most_sources, p.sources) * source_bytes;
        terms[1] *= p.most_targets;
        terms[3] = waiting(p.boxes);
        terms[6] = beyond(warp_bytes, level_one_bytes) * terms[1];
        break;
    }
    case NearLayout::ranges: {
        const double lanes = near_target_lanes(p.targets, p.pairs), own = chain / lanes;
        terms[1] = own * chain_s;
        terms[3] = steps * waiting(p.targets * lanes);
        terms[5] = steps;
        terms[6] = std::max(0.0, p.pairs - threads_at_once * own) * slot_s;
        break;
    }
    case NearLayout::replicated:
    case NearLayout::replicated_interleaved:
        terms[3] = waiting(p.targets);
        terms[6] = beyond(p.layout_bytes, level_two_bytes) * terms[1];
        terms[7] = p.pairs * (p.dimension + p.components) * p.number_bytes(); // records are padded, too
        break;
    case NearLayout::replicated_group:
        terms[6] = std::max(0.0, p.pairs - threads_at_once * chain) * slot_s;
        terms[7] = p.layout_bytes;
        break;
    case NearLayout::tiled_once: // sums that boxes leave each other, and own ones: written, then read
        return {1,
                0,
                0,
                0,
                slots_once(p, full, machine.once_warps) * machine.once_slot_s,
                0,
                0,
                16 * (p.gathered + p.targets)};
    default: {
        const TileChains chains = chains_of(p, full);
        terms[1] = chains.direct * chain_s;
        terms[5] = chains.direct > 0 ? steps : 0;
        terms[6] = chains.shared * chain_s;
        terms[7] = chains.shared_pairs * slot_s;
    }
    }
    return terms;
}

} // namespace

model::NearTerms near_gpu_terms(NearLayout form, NearPhaseName phase, const NearTimeInput& p,
                                const NearGpuSeconds& machine) {
    const NearLayout layout = near_measured_as(form);
    switch (phase) {
    case NearPhaseName::collection:
        return collection_terms(form, p, machine);
    case NearPhaseName::charges:
        return charges_terms(layout, p);
    case NearPhaseName::kernel:
        return kernel_terms(layout, p, machine);
    case NearPhaseName::scatter: // beside the kernels and what the link's numbers say
        return {1, 0, p.targets, 0, 0, far_targets(p), 0, 0};
    default:
        return {};
    }
}

namespace {

// backend, layout, bytes of a number, error; collection, charges, kernel, scatter. Fitted to 78 structures of
// 1e3 to 1e6 points with 0.5 to 256 a box, 2-D in fp64 and 3-D in fp32, and, at a weight of 0.3, to 30 of 2-D
// in fp32 and 3-D in fp64 (docs/lab/gpu/near.md). Collection, and ranges' kernels, since their walk and its
// lanes changed: to 27 and 47 of each kind with 0.5 to 64 a box.
constexpr model::NearLayoutCosts layout_costs[] = {
    {1,
     0,
     8,
     0.25,
     {0.000101, 4.57e-09, 4.71e-09, 1.93e-10, 0, 7.12e-09, 4.52e-11, 0},
     {6.43e-06, 0, 5.08e-11, 0, 0, 0, 0, 0},
     {3.72e-06, 0.609, 0, 4.5e-11, 2.46, 0, 0.78, 0},
     {2.73e-05, 0, 4.41e-10, 0, 0, 4.4e-10, 0, 0},
     {}},
    {1,
     1,
     8,
     0.25,
     {8.85e-05, 4.26e-09, 2.97e-09, 1.66e-10, 0, 2.77e-09, 0, 0},
     {6.83e-06, 0, 5.79e-11, 0, 0, 0, 0, 0},
     {6.76e-06, 1.32, 3.28e-11, 3.29e-12, 0, 0, 0.799, 0},
     {2.73e-05, 0, 4.41e-10, 0, 0, 4.4e-10, 0, 0},
     {}},
    {1,
     2,
     8,
     0.25,
     {9.25e-05, 5.1e-09, 1.5e-09, 1.85e-10, 4.8e-11, 3.44e-09, 0, 0.000291},
     {9e-06, 0, 2.72e-10, 4.1e-11, 1.47e-11, 0, 0, 0},
     {5.26e-06, 1.19, 1.1e-12, 9.16e-11, 0, 0, 0.245, 2.95e-13},
     {2.73e-05, 0, 4.41e-10, 0, 0, 4.4e-10, 0, 0},
     {}},
    {1,
     3,
     8,
     0.25,
     {0.000124, 5.1e-09, 1.5e-09, 1.85e-10, 5.85e-11, 3.44e-09, 0, 0.000371},
     {1.01e-05, 2.02e-07, 2.26e-11, 0, 2.7e-12, 2e-11, 0, 0},
     {5.53e-06, 1, 3.31e-11, 3.03e-11, 0, 0, 0.196, 2.27e-13},
     {2.73e-05, 0, 4.41e-10, 0, 0, 4.4e-10, 0, 0},
     {}},
    {1,
     4,
     8,
     0.25,
     {0.000102, 4.05e-09, 3.27e-09, 1.95e-10, 0, 6.13e-09, 1.27e-10, 0.000348},
     {9.47e-06, 5.43e-09, 0, 3.36e-10, 2.29e-11, 0, 0, 0},
     {7.67e-06, 0.882, 7.11e-12, 2.64e-12, 0.172, 0, 0.595, 2.27e-13},
     {2.73e-05, 0, 4.41e-10, 0, 0, 4.4e-10, 0, 0},
     {}},
    {1,
     5,
     8,
     0.25,
     {0.000119, 6.2e-09, 3.58e-09, 6.96e-10, 6.89e-09, 6.87e-09, 0, 0},
     {7.04e-06, 0, 5.89e-11, 0, 0, 0, 0, 0},
     {5.12e-06, 1.04, 6.99e-11, 0, 0.711, 2.34e-06, 0.154, 3.23e+04},
     {2.73e-05, 0, 4.41e-10, 0, 0, 4.4e-10, 0, 0},
     {}},
    {1,
     6,
     8,
     0.25,
     {0.00015, 1.24e-08, 3.6e-09, 1.4e-09, 2e-08, 6.87e-09, 0, 0},
     {5.9e-06, 0, 6.46e-11, 0, 0, 0, 0, 0},
     {9.38e-06, 1.34, 1.06e-10, 0, 0.718, 2.01e-06, 0, 3.46e+04},
     {2.73e-05, 0, 4.41e-10, 0, 0, 4.4e-10, 0, 0},
     {}},
    {1,
     0,
     4,
     0.25,
     {0.000122, 3.98e-09, 4.4e-09, 1.72e-10, 0, 0, 3.35e-10, 0},
     {6.71e-06, 0, 4.21e-11, 0, 0, 0, 0, 0},
     {6.28e-06, 0.447, 3.03e-11, 0, 11, 0, 1.53, 0},
     {2.92e-05, 0, 4.2e-10, 0, 0, 0, 0, 0},
     {}},
    {1,
     1,
     4,
     0.25,
     {0.000107, 3.17e-09, 1.76e-09, 1.39e-10, 0, 0, 0, 0},
     {7.51e-06, 0, 4.5e-11, 0, 0, 0, 0, 0},
     {6.29e-06, 2.07, 4.47e-11, 9.88e-13, 0, 1.22e-07, 1.95, 0},
     {2.92e-05, 0, 4.2e-10, 0, 0, 0, 0, 0},
     {}},
    {1,
     2,
     4,
     0.25,
     {0.000108, 3.73e-09, 5.49e-10, 1.94e-10, 4.9e-11, 0, 0, 0.000269},
     {1.1e-05, 0, 3e-10, 2.99e-11, 9.71e-12, 0, 0, 0},
     {3.74e-06, 2.52, 0, 7.57e-11, 0, 0, 1.36, 3.56e-13},
     {2.92e-05, 0, 4.2e-10, 0, 0, 0, 0, 0},
     {}},
    {1,
     3,
     4,
     0.25,
     {0.000155, 3.73e-09, 5.49e-10, 1.94e-10, 7.49e-11, 0, 2.02e-11, 0.000113},
     {1.55e-05, 1.28e-07, 0, 0, 1.78e-12, 1.51e-11, 0, 0},
     {5.31e-06, 2, 3.43e-11, 1.42e-11, 0, 0, 1.24, 2.27e-13},
     {2.92e-05, 0, 4.2e-10, 0, 0, 0, 0, 0},
     {}},
    {1,
     4,
     4,
     0.25,
     {0.000116, 3.67e-09, 2.85e-09, 1.81e-10, 0, 0, 5.2e-11, 0.000203},
     {1.18e-05, 3.88e-09, 0, 3.13e-10, 1.12e-11, 2.65e-11, 0, 0},
     {7.46e-06, 0.907, 0, 3.58e-13, 0.334, 0, 0.862, 2.85e-13},
     {2.92e-05, 0, 4.2e-10, 0, 0, 0, 0, 0},
     {}},
    {1,
     5,
     4,
     0.25,
     {0.000137, 3.74e-09, 2.37e-09, 0, 6.97e-08, 0, 0, 0},
     {6.75e-06, 0, 4.64e-11, 0, 0, 0, 0, 0},
     {1e-05, 2.22, 5.94e-11, 1.24e-11, 0.911, 0, 0.234, 9.86e+03},
     {2.92e-05, 0, 4.2e-10, 0, 0, 0, 0, 0},
     {}},
    {1,
     6,
     4,
     0.25,
     {0.00018, 7.5e-09, 2.4e-09, 1.8e-10, 1.5e-07, 0, 0, 0},
     {6.19e-06, 0, 4.68e-11, 0, 0, 0, 0, 0},
     {1.72e-05, 2.04, 1.31e-10, 6.63e-12, 0.848, 0, 0.514, 0},
     {2.92e-05, 0, 4.2e-10, 0, 0, 0, 0, 0},
     {}},
    // Kernels: 15 rates of near_pairs_once.md. Collection: 23 ns a neighbour longer than ranges, 1e6 points.
    {1,
     9,
     4,
     0.25,
     {0.000107, 3.17e-09, 1.76e-09, 1.39e-10, 2.3e-08, 0, 5.2e-11, 0.000203},
     {6.75e-06, 0, 4.64e-11, 0, 0, 0, 0, 0},
     {2.17e-05, 0, 0, 0, 0.98, 0, 0, 4.2e-13},
     {2.92e-05, 0, 4.2e-10, 0, 0, 0, 0, 0},
     {}},
};

// backend, kernel, precision, dimension, outputs, seconds of a pair, of a step
constexpr model::NearKernelCosts kernel_costs[] = {
    {1, 0, 0, 3, 1, 4.77e-13, 1.07e-07}, {1, 0, 0, 3, 3, 6.86e-13, 1.1e-07},
    {1, 0, 1, 3, 1, 1.42e-12, 1.9e-07},  {1, 0, 1, 3, 3, 1.29e-12, 2.43e-07},
    {1, 0, 2, 3, 1, 1.42e-12, 1.89e-07}, {1, 0, 2, 3, 3, 2.06e-12, 2.28e-07},
    {1, 1, 0, 2, 1, 2.02e-12, 1.76e-07}, {1, 1, 0, 2, 3, 2.25e-12, 1.75e-07},
    {1, 1, 1, 2, 1, 2.43e-12, 2.57e-07}, {1, 1, 1, 2, 3, 2.31e-12, 2.77e-07},
    {1, 1, 2, 2, 1, 5.49e-12, 4.11e-07}, {1, 1, 2, 2, 3, 6.36e-12, 4.05e-07},
    {1, 2, 0, 3, 1, 1.55e-12, 1.53e-07}, {1, 2, 0, 3, 3, 2.08e-12, 1.61e-07},
    {1, 2, 1, 3, 1, 2.35e-12, 2.48e-07}, {1, 2, 1, 3, 3, 2.12e-12, 2.7e-07},
    {1, 2, 2, 3, 1, 4.53e-12, 3.04e-07}, {1, 2, 2, 3, 3, 5.62e-12, 3.19e-07},
    {1, 3, 0, 3, 1, 3.23e-12, 2.4e-07},  {1, 3, 0, 3, 3, 3.98e-12, 2.51e-07},
    {1, 3, 1, 3, 1, 4.58e-12, 3.74e-07}, {1, 3, 1, 3, 3, 4.79e-12, 4.02e-07},
    {1, 3, 2, 3, 1, 5.92e-12, 3.53e-07}, {1, 3, 2, 3, 3, 7.71e-12, 3.72e-07},
};

} // namespace

const model::NearMachine& near_gpu_defaults() {
    static const model::NearMachine near = model::make_near_machine(layout_costs, kernel_costs);
    return near;
}

} // namespace graft::near
