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
    const auto add = [&](double targets, double sources) {
        const auto n = static_cast<int32_t>(std::max(1.0, std::round(targets)));
        const TileShape shape = best_tile_shape(n, std::max(1.0, sources), rule);
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
NearTerms kernel_terms(NearLayout layout, const NearProblem& p, double slot_s) {
    const double full = full_boxes(p), chain = p.most_sources;
    const double steps = full > 0 ? p.runs / full : 0;
    NearTerms terms = {1, chain * slot_s, p.targets, p.runs, p.pairs * slot_s, 0, 0, 0};
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
        terms[6] = beyond(p.layout_bytes, level_two_bytes) * terms[1], terms[7] = p.layout_bytes;
        break;
    case NearLayout::replicated_group:
        terms[6] = std::max(0.0, p.pairs - threads_at_once * chain) * slot_s, terms[7] = p.layout_bytes;
        break;
    default: {
        const TileChains chains = chains_of(p, full);
        terms[1] = chains.direct * slot_s, terms[5] = chains.direct > 0 ? steps : 0;
        terms[6] = chains.shared * slot_s, terms[7] = chains.shared_pairs * slot_s;
    }
    }
    return terms;
}

} // namespace

NearTerms near_gpu_terms(NearLayout layout, NearPhaseName phase, const NearProblem& p, double slot_s) {
    switch (phase) {
    case NearPhaseName::collection:
        return {1, p.neighbours, p.targets, p.boxes, p.layout_bytes / line_bytes, 0, 0, 0};
    case NearPhaseName::charges:
        return {1,
                near_records(layout) ? p.most_sources : 0,
                p.targets,
                0,
                entries_of(layout, p) * p.components,
                0,
                0,
                0};
    case NearPhaseName::kernel:
        return kernel_terms(layout, p, slot_s);
    default:
        return {};
    }
}

namespace {

// backend, layout, bytes of a number, error; collection, charges, kernel, scatter. `near.py halves --rows`:
// collection and charges of 71 structures of 1e3 to 1e6 points with 0.5 to 256 a box, 2-D in fp64 and 3-D in
// fp32, nine repetitions each; kernels of 95 more up to 1e7 points, too; seconds of a call that makes a plan:
// as measured with memory kept by the library (impl/docs/gpu/near.md).
constexpr NearLayoutCosts layout_costs[] = {
    {1,
     0,
     8,
     0.25,
     {5e-05, 1.07e-09, 1.92e-08, 4.37e-08, 0, 0, 0, 0},
     {4.1e-05, 0, 1.14e-09, 0, 0, 0, 0, 0},
     {2.31e-06, 5.81e+04, 0, 0, 3.48, 0, 6.75e+04, 0},
     {},
     {}},
    {1,
     1,
     8,
     0.25,
     {5e-05, 0, 1.92e-08, 4.37e-08, 0, 0, 0, 0},
     {3.72e-05, 0, 1.14e-09, 0, 0, 0, 0, 0},
     {6.21e-06, 9.6e+04, 0, 7.44e-11, 0.97, 2.94e-06, 0, 0},
     {},
     {}},
    {1,
     2,
     8,
     0.25,
     {5e-05, 0, 1.92e-08, 4.37e-08, 6.04e-12, 0, 0, 0},
     {4.2e-05, 1.69e-08, 1.03e-09, 0, 1.44e-11, 0, 0, 0},
     {3.61e-06, 1.13e+05, 1.1e-10, 0, 0, 0, 4.46e+04, 1.69e-13},
     {},
     {}},
    {1,
     3,
     8,
     0.25,
     {5e-05, 0, 1.92e-08, 4.77e-08, 8.27e-11, 0, 0, 0},
     {4.3e-05, 2.2e-07, 1.15e-09, 0, 4.15e-12, 0, 0, 0},
     {4.41e-06, 9.29e+04, 2.2e-10, 0, 0.353, 0, 5.96e+04, 0},
     {},
     {}},
    {1,
     4,
     8,
     0.25,
     {5e-05, 0, 2.06e-08, 4.68e-08, 6.75e-11, 0, 0, 0},
     {4.23e-05, 7.34e-09, 0, 0, 1.42e-10, 0, 0, 0},
     {9.08e-06, 8.02e+04, 9.52e-11, 0, 0.149, 0, 0.811, 0},
     {},
     {}},
    {1,
     5,
     8,
     0.25,
     {8e-05, 1.49e-09, 1.92e-08, 9.31e-08, 2.44e-09, 0, 0, 0},
     {3.84e-05, 0, 1.05e-09, 0, 0, 0, 0, 0},
     {2.82e-06, 3.99e+04, 1.28e-10, 0, 0.809, 6.71e-06, 1.33e+05, 1.3e+04},
     {},
     {}},
    {1,
     6,
     8,
     0.25,
     {0.00014, 0, 1.92e-08, 2.55e-07, 5.35e-09, 0, 0, 0},
     {3.93e-05, 0, 1.09e-09, 0, 0, 0, 0, 0},
     {2.59e-05, 7.91e+04, 1.62e-10, 0, 0.829, 4.68e-09, 1.39e+05, 9.75e+03},
     {},
     {}},
    {1,
     0,
     4,
     0.25,
     {5e-05, 5.1e-10, 9.17e-09, 1.12e-07, 0, 0, 0, 0},
     {4.11e-05, 0, 6.6e-10, 0, 0, 0, 0, 0},
     {1.02e-05, 7.27e+04, 4.32e-10, 0, 6.09, 0, 2.74e+05, 0},
     {},
     {}},
    {1,
     1,
     4,
     0.25,
     {5e-05, 0, 9.17e-09, 1.12e-07, 0, 0, 0, 0},
     {3.91e-05, 0, 4.84e-10, 0, 0, 0, 0, 0},
     {0, 1.69e+05, 0, 0, 1.12, 2.12e-06, 0, 0},
     {},
     {}},
    {1,
     2,
     4,
     0.25,
     {5e-05, 0, 9.4e-09, 1.12e-07, 2.33e-11, 0, 0, 0},
     {3.92e-05, 1.27e-08, 9.9e-10, 0, 9e-12, 0, 0, 0},
     {5.65e-06, 4.59e+05, 1.41e-10, 0, 4.97, 0, 3.34e+05, 0},
     {},
     {}},
    {1,
     3,
     4,
     0.25,
     {5e-05, 0, 9.17e-09, 1.12e-07, 1.32e-10, 0, 0, 0},
     {5.55e-05, 1.23e-07, 0, 0, 4.27e-12, 0, 0, 0},
     {4.95e-06, 3.5e+05, 1.49e-10, 0, 0.155, 0, 4.72e+05, 0},
     {},
     {}},
    {1,
     4,
     4,
     0.25,
     {5e-05, 0, 1.55e-08, 1.12e-07, 0, 0, 0, 0},
     {4.6e-05, 5.1e-09, 0, 0, 2.79e-11, 0, 0, 0},
     {8.39e-06, 1.5e+05, 0, 2.53e-12, 0.322, 0, 0.644, 3.04e-13},
     {},
     {}},
    {1,
     5,
     4,
     0.25,
     {8e-05, 0, 9.17e-09, 1.79e-07, 0, 0, 0, 0},
     {4.01e-05, 0, 4e-10, 0, 0, 0, 0, 0},
     {1.42e-06, 2.96e+05, 1.91e-10, 0, 0.572, 3.34e-06, 5.66e+04, 1.04e+04},
     {},
     {}},
    {1,
     6,
     4,
     0.25,
     {0.00014, 0, 9.17e-09, 4.03e-07, 0, 0, 0, 0},
     {3.86e-05, 0, 3.76e-10, 0, 0, 0, 0, 0},
     {9.58e-06, 3.28e+05, 2.25e-10, 0, 0.576, 3.02e-06, 3.78e+04, 1.3e+04},
     {},
     {}},
};

// backend, kernel, precision, dimension, outputs, seconds of a pair
constexpr NearKernelCosts kernel_costs[] = {
    {1, 0, 0, 3, 1, 6e-13, 0},    {1, 0, 0, 3, 3, 6.8e-13, 0}, {1, 0, 1, 3, 3, 1.24e-12, 0},
    {1, 0, 2, 3, 3, 1.75e-12, 0}, {1, 1, 2, 2, 1, 4.4e-12, 0}, {1, 2, 0, 3, 3, 1.96e-12, 0},
    {1, 2, 1, 3, 3, 3.3e-12, 0},  {1, 2, 2, 3, 3, 5e-12, 0},   {1, 3, 0, 3, 3, 4.2e-12, 0},
    {1, 3, 1, 3, 3, 6.7e-12, 0},  {1, 3, 2, 3, 3, 7.7e-12, 0},
};

} // namespace

const NearMachine& near_gpu_defaults() {
    static const NearMachine near = make_near_machine(layout_costs, kernel_costs);
    return near;
}

} // namespace graft::model
