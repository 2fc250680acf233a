// Terms of a GPU's phases and the numbers of one, see near_gpu.hpp.
#include "model/near_gpu.hpp"

#include "model/near_tile.hpp"

#include <algorithm>
#include <cmath>

namespace graft::model {

namespace {

constexpr double line_bytes = 64;
constexpr double level_one_bytes = 8e4; // of a multiprocessor's first level, for the sources of a warp
constexpr double level_two_bytes = 5e7; // of the device's second level
constexpr double boxes_a_thread = 4096; // at least (device_runs.cpp): fewer boxes are walked over by one
constexpr double near_core_bytes = 4e6; // of the caller's arrays in a core's caches
constexpr double threads_at_once = 6e4; // that sum while the longest one does

double full_boxes(const NearProblem& p) {
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

TileRule rule_of(const NearProblem& p) {
    constexpr double radial[] = {10, 20, 25, 50, 10}; // as in device_layout_tiled.cu
    constexpr double precision[] = {1, 1.4, 2.2};
    TileRule rule;
    rule.pair =
        (radial[std::clamp(p.kernel, 0, 4)] + 4.0 * p.components) * precision[std::clamp(p.precision, 0, 2)];
    rule.values = p.components * ((p.outputs & 1) + ((p.outputs & 2) != 0 ? p.dimension : 0));
    rule.every = p.kernel == 0 && p.precision == 0 && p.components == 1;
    rule.most = rule.every ? 8 : (p.components <= 2 ? 4 : 2);
    return rule;
}

/// Boxes of two deviations less to two more than the mean number of targets, and the fullest one: shapes
/// change with it, and the slowest warp is what a kernel waits for.
TileChains chains_of(const NearProblem& p, double full) {
    TileChains chains;
    const TileRule rule = rule_of(p);
    const double neighbours = p.boxes > 0 ? p.neighbours / p.boxes : 1; // of a box
    const auto add = [&](double targets, double sources) {
        const auto n = static_cast<int32_t>(std::max(1.0, std::round(targets)));
        const TileShape shape =
            best_tile_shape(n, std::max(1.0, sources), block_kind(n, p.pairs / p.targets, neighbours), rule);
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
    const double mean = p.targets / full;
    for (const double deviations : {-2.0, -1.0, 0.0, 1.0, 2.0})
        add(mean + deviations * std::sqrt(mean), p.pairs / p.targets);
    add(p.most_targets, p.most_sources);
    return chains;
}

double entries_of(NearLayout layout, const NearProblem& p) {
    switch (layout) {
    case NearLayout::replicated:
        return p.pairs;
    case NearLayout::replicated_interleaved:
        return std::max(p.lane_pairs, p.pairs);
    case NearLayout::replicated_group:
        return p.gathered;
    case NearLayout::indexed:
        return 0;
    default:
        return p.sources + (p.same ? 0 : p.targets);
    }
}

/// In the order of near_gpu.hpp.
NearTerms kernel_terms(NearLayout layout, const NearProblem& p, double slot_s, double chain_s) {
    const double full = full_boxes(p), chain = p.most_sources;
    const double steps = full > 0 ? p.runs / full : 0;
    NearTerms terms = {1, chain * chain_s, p.targets, p.runs, p.pairs * slot_s, 0, 0, 0};
    switch (layout) {
    case NearLayout::indexed: {
        const double source_bytes = (p.dimension + p.components) * p.number_bytes();
        const double warp_bytes = std::min(32 * p.most_sources, p.sources) * source_bytes;
        terms[1] *= p.most_targets, terms[3] = 0;
        terms[6] = beyond(warp_bytes, level_one_bytes) * terms[1];
        break;
    }
    case NearLayout::ranges:
        terms[3] = steps * p.targets, terms[5] = steps;
        break;
    case NearLayout::replicated:
    case NearLayout::replicated_interleaved:
        terms[6] = beyond(p.layout_bytes, level_two_bytes) * terms[1];
        terms[7] = p.pairs * (p.dimension + p.components) * p.number_bytes(); // records are padded, too
        break;
    case NearLayout::replicated_group:
        terms[6] = std::max(0.0, p.pairs - threads_at_once * chain) * slot_s, terms[7] = p.layout_bytes;
        break;
    default: {
        const TileChains chains = chains_of(p, full);
        terms[1] = chains.direct * chain_s, terms[5] = chains.direct > 0 ? steps : 0;
        terms[6] = chains.shared * chain_s, terms[7] = chains.shared_pairs * slot_s;
    }
    }
    return terms;
}

} // namespace

NearTerms near_gpu_terms(NearLayout layout, NearPhaseName phase, const NearProblem& p,
                         const NearGpuSeconds& machine) {
    switch (phase) {
    case NearPhaseName::collection:
        return {1,
                p.neighbours,
                p.targets,
                p.boxes,
                p.layout_bytes / line_bytes,
                p.neighbours * std::min(1.0, boxes_a_thread / std::max(1.0, p.boxes)),
                p.layout_bytes > machine.kept_bytes ? p.layout_bytes / line_bytes : 0,
                p.layout_bytes > machine.kept_bytes ? 1.0 : 0.0};
    case NearPhaseName::charges:
        return {1,
                near_records(layout) ? p.most_sources : 0,
                p.targets,
                0,
                entries_of(layout, p) * p.components,
                p.targets * beyond(2 * p.targets * p.number_bytes(), near_core_bytes),
                0,
                0};
    case NearPhaseName::kernel:
        return kernel_terms(layout, p, machine.slot_s, machine.chain_s);
    default:
        return {};
    }
}

namespace {

// backend, layout, bytes of a number, error; collection, charges, kernel, scatter. Fitted to 78 structures of
// 1e3 to 1e6 points with 0.5 to 256 a box, 2-D in fp64 and 3-D in fp32, and, at a weight of 0.3, to 30 of 2-D
// in fp32 and 3-D in fp64 (impl/docs/gpu/near.md).
constexpr NearLayoutCosts layout_costs[] = {
    {1,
     0,
     8,
     0.25,
     {0.000132, 5.27e-09, 6.86e-09, 9.1e-09, 0, 4.53e-09, 4.52e-11, 0},
     {3.89e-05, 0, 6.3e-10, 0, 0, 9.62e-10, 0, 0},
     {5.51e-06, 0.618, 0, 0, 2.41, 0, 0.769, 0},
     {},
     {}},
    {1,
     1,
     8,
     0.25,
     {0.000116, 5.27e-09, 5.97e-09, 4.51e-09, 0, 4.53e-09, 0, 0},
     {3.75e-05, 0, 5.42e-10, 0, 0, 1.1e-09, 0, 0},
     {4.26e-06, 1.05, 2.65e-10, 2.35e-12, 0.78, 2.74e-06, 0, 0},
     {},
     {}},
    {1,
     2,
     8,
     0.25,
     {0.000121, 5.27e-09, 5.97e-09, 6.42e-09, 5.22e-11, 4.53e-09, 0, 0.000291},
     {4.1e-05, 1.43e-08, 7.47e-10, 0, 1.43e-11, 9.23e-10, 0, 0},
     {4.72e-06, 1.2, 1.95e-10, 0, 0, 0, 0.356, 2.27e-13},
     {},
     {}},
    {1,
     3,
     8,
     0.25,
     {0.000158, 5.59e-09, 5.97e-09, 4.51e-09, 6.25e-11, 4.53e-09, 0, 0.000371},
     {4.33e-05, 2.2e-07, 5.16e-10, 0, 5.08e-12, 1.23e-09, 0, 0},
     {5.15e-06, 1.01, 0, 4.35e-11, 0, 0, 0.189, 2.27e-13},
     {},
     {}},
    {1,
     4,
     8,
     0.25,
     {0.000137, 5.56e-09, 5.97e-09, 5.66e-09, 0, 4.53e-09, 1.27e-10, 0.000348},
     {4.26e-05, 8.22e-09, 6.12e-10, 0, 1.33e-11, 1.13e-09, 0, 0},
     {8.1e-06, 0.882, 0, 0, 0.123, 0, 0.626, 4.24e-13},
     {},
     {}},
    {1,
     5,
     8,
     0.25,
     {0.00016, 5.27e-09, 5.97e-09, 7.39e-08, 3.88e-09, 5.33e-09, 0, 0},
     {3.74e-05, 0, 6.39e-10, 0, 0, 1.03e-09, 0, 0},
     {3.4e-06, 0.931, 7.98e-11, 0, 0.679, 4.01e-06, 0.141, 3.32e+04},
     {},
     {}},
    {1,
     6,
     8,
     0.25,
     {0.000213, 9.94e-09, 5.97e-09, 1.73e-07, 4.99e-09, 1.35e-08, 0, 0},
     {3.91e-05, 0, 6.26e-10, 0, 0, 1.11e-09, 0, 0},
     {8.86e-06, 1.28, 1.03e-10, 0, 0.708, 3.27e-06, 0, 3.49e+04},
     {},
     {}},
    {1,
     0,
     4,
     0.25,
     {0.000154, 4.79e-09, 6.26e-09, 7.17e-09, 0, 4.39e-09, 3.35e-10, 0},
     {4.11e-05, 0, 6.3e-10, 0, 0, 1.72e-09, 0, 0},
     {7.93e-06, 0.432, 4.56e-10, 0, 9.48, 0, 1.5, 0},
     {},
     {}},
    {1,
     1,
     4,
     0.25,
     {0.000134, 4.64e-09, 4.94e-09, 7.17e-09, 0, 4.39e-09, 0, 0},
     {3.94e-05, 0, 6.08e-10, 0, 0, 1.35e-09, 0, 0},
     {1.37e-06, 0.957, 0, 1.01e-11, 1.27, 1.9e-06, 0, 0},
     {},
     {}},
    {1,
     2,
     4,
     0.25,
     {0.000139, 4.64e-09, 5.86e-09, 7.17e-09, 5.03e-11, 4.39e-09, 0, 0.000269},
     {4.4e-05, 5.98e-09, 6.63e-10, 0, 1.09e-11, 2.16e-09, 0, 0},
     {2.96e-06, 2.57, 2.15e-10, 7.2e-11, 0, 0, 1.64, 2.43e-13},
     {},
     {}},
    {1,
     3,
     4,
     0.25,
     {0.0002, 4.64e-09, 4.94e-09, 7.17e-09, 6.3e-11, 4.39e-09, 2.02e-11, 0.000113},
     {5.11e-05, 1.34e-07, 3.95e-10, 0, 3.33e-12, 1.06e-09, 0, 0},
     {4.68e-06, 2.05, 0, 0, 0, 0, 1.21, 2.27e-13},
     {},
     {}},
    {1,
     4,
     4,
     0.25,
     {0.000156, 4.8e-09, 5.05e-09, 7.17e-09, 0, 4.39e-09, 5.2e-11, 0.000203},
     {4.57e-05, 7.11e-09, 3.75e-10, 0, 1.38e-11, 1.74e-09, 0, 0},
     {8.69e-06, 0.889, 0, 0, 0.242, 0, 0.955, 3.77e-13},
     {},
     {}},
    {1,
     5,
     4,
     0.25,
     {0.000172, 4.93e-09, 4.94e-09, 6.57e-08, 3.44e-09, 5.66e-09, 0, 0},
     {3.9e-05, 0, 5.86e-10, 0, 0, 1.38e-09, 0, 0},
     {1.81e-05, 1.93, 1.41e-10, 8.16e-11, 0.748, 0, 0.455, 0},
     {},
     {}},
    {1,
     6,
     4,
     0.25,
     {0.000223, 1.03e-08, 4.94e-09, 1.62e-07, 4.35e-09, 1.31e-08, 0, 0.00817},
     {3.99e-05, 0, 6.19e-10, 0, 0, 1.28e-09, 0, 0},
     {2.6e-05, 1.92, 1.23e-10, 1.64e-10, 0.804, 0, 0.358, 2.8e+03},
     {},
     {}},
};

// backend, kernel, precision, dimension, outputs, seconds of a pair, of a step
constexpr NearKernelCosts kernel_costs[] = {
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

const NearMachine& near_gpu_defaults() {
    static const NearMachine near = make_near_machine(layout_costs, kernel_costs);
    return near;
}

} // namespace graft::model
