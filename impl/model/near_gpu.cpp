// Terms of a GPU's phases and the numbers of one, see near_gpu.hpp.
#include "model/near_gpu.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace graft::model {

namespace {

constexpr double line_bytes = 64;
constexpr double few_targets = 24; // a box, below which several share a warp of tiled and read for themselves

double full_boxes(const NearProblem& p) {
    if (p.full_boxes > 0 || p.boxes <= 0)
        return p.full_boxes;
    return p.boxes * -std::expm1(-p.targets / p.boxes); // even points: occupation is Poisson's
}

/// Pairs that one thread sums after each other.
double chain_of(NearLayout layout, const NearProblem& p) {
    return layout == NearLayout::indexed ? p.most_targets * p.most_sources : p.most_sources;
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

} // namespace

NearTerms near_gpu_terms(NearLayout layout, NearPhaseName phase, const NearProblem& p, double slot_s) {
    switch (phase) {
    case NearPhaseName::collection:
        return {1, p.neighbours, p.targets, p.boxes, p.layout_bytes / line_bytes, 0, 0, 0};
    case NearPhaseName::charges:
        return {1, 0, p.targets, 0, entries_of(layout, p) * p.components, 0, 0, 0};
    case NearPhaseName::kernel: {
        const double full = full_boxes(p);
        const bool tiles = layout == NearLayout::tiled || layout == NearLayout::tiled_split;
        const double few = tiles && p.targets < few_targets * full ? 1 : 0;
        return {1,
                chain_of(layout, p) * slot_s,
                p.targets,
                layout == NearLayout::ranges && full > 0 ? p.runs * p.targets / full : p.runs,
                p.pairs * slot_s,
                full,
                few * chain_of(layout, p) * slot_s,
                few * p.pairs * slot_s};
    }
    default:
        return {};
    }
}

namespace {

// backend, layout, bytes of a number, error; collection, charges, kernel, scatter. Fitted to 76 structures of
// 1e3 to 1e8 points with 0.5 to 256 a box, 2-D in fp64 and 3-D in fp32
// (impl/docs/figures/data/near_gpu.jsonl).
constexpr NearLayoutCosts layout_costs[] = {
    {1,
     0,
     8,
     0.25,
     {0.00145, 1.82e-09, 1.88e-08, 5.04e-08, 0, 0, 0, 0},
     {3.93e-05, 0, 1.55e-09, 0, 0, 0, 0, 0},
     {0, 6.7e+04, 0, 0, 4.38, 2.99e-12, 0, 0},
     {}},
    {1,
     1,
     8,
     0.25,
     {0.00161, 1.23e-09, 1.33e-08, 3.26e-08, 1.49e-08, 0, 0, 0},
     {3.44e-05, 0, 1.54e-09, 0, 3.62e-25, 0, 0, 0},
     {1.05e-05, 1.02e+05, 0, 3.81e-11, 1.09, 0, 0, 0},
     {}},
    {1,
     2,
     8,
     0.25,
     {0.00157, 2.35e-09, 1.96e-08, 2.76e-08, 5.3e-11, 0, 0, 0},
     {3.71e-05, 0, 1.48e-09, 0, 1.59e-11, 0, 0, 0},
     {4.03e-06, 1.15e+05, 7.57e-11, 0, 1.69, 0, 0, 0},
     {}},
    {1,
     3,
     8,
     0.25,
     {0.00161, 2.28e-09, 1.69e-08, 3.53e-08, 1.52e-10, 0, 0, 0},
     {5.2e-05, 0, 8.31e-10, 0, 1.13e-11, 0, 0, 0},
     {5.05e-06, 9.58e+04, 6e-11, 0, 1.25, 0, 0, 0},
     {}},
    {1,
     4,
     8,
     0.25,
     {0.00156, 1.2e-09, 2.29e-08, 3.92e-08, 0, 0, 0, 0},
     {4.07e-05, 0, 1.63e-09, 0, 0, 0, 0, 0},
     {8.05e-06, 7.38e+04, 7.7e-11, 0, 0.769, 0, 0, 0},
     {}},
    {1,
     5,
     8,
     0.25,
     {0.00148, 0, 0, 1.05e-07, 5.54e-08, 0, 0, 0},
     {3.35e-05, 0, 1.53e-09, 0, 0, 0, 0, 0},
     {7.97e-06, 9.39e+04, 6.4e-11, 0, 0.968, 0, 4.39e+04, 0.00826},
     {}},
    {1,
     6,
     8,
     0.25,
     {0.00153, 0, 0, 2.51e-07, 6.22e-08, 0, 0, 0},
     {3.47e-05, 0, 1.46e-09, 0, 0, 0, 0, 0},
     {1.3e-05, 1.01e+05, 8.89e-11, 6.1e-12, 0.955, 0, 4.6e+04, 0},
     {}},
    {1,
     0,
     4,
     0.25,
     {0.00124, 0, 2.18e-08, 1.36e-07, 0, 0, 0, 0},
     {3.39e-05, 0, 1.38e-09, 0, 0, 0, 0, 0},
     {2.86e-06, 9.61e+04, 0, 0, 13, 0, 0, 0},
     {}},
    {1,
     1,
     4,
     0.25,
     {0.0013, 0, 1.64e-08, 1.14e-07, 4.92e-09, 0, 0, 0},
     {3.29e-05, 0, 1.17e-09, 0, 0, 0, 0, 0},
     {1.2e-05, 1.71e+05, 0, 9.07e-12, 1.02, 0, 0, 0},
     {}},
    {1,
     2,
     4,
     0.25,
     {0.00126, 0, 2.35e-08, 1.1e-07, 6.23e-11, 0, 0, 0},
     {3.82e-05, 0, 1.51e-09, 0, 1.07e-11, 0, 0, 0},
     {1.78e-06, 4.94e+05, 0, 1.05e-11, 10.9, 0, 0, 0},
     {}},
    {1,
     3,
     4,
     0.25,
     {0.00133, 0, 5.4e-09, 1.2e-07, 2.62e-10, 0, 0, 0},
     {6.18e-05, 0, 0, 0, 6.33e-12, 0, 0, 0},
     {4.17e-06, 3.89e+05, 1.55e-12, 1.09e-11, 7.01, 0, 0, 0},
     {}},
    {1,
     4,
     4,
     0.25,
     {0.00125, 0, 0, 1.12e-07, 4.37e-09, 0, 0, 0},
     {4.04e-05, 0, 1.73e-09, 0, 0, 0, 0, 0},
     {7.2e-06, 1.52e+05, 1.08e-10, 0, 0.539, 0, 0, 0},
     {}},
    {1,
     5,
     4,
     0.25,
     {0.00127, 0, 0, 1.47e-07, 6.19e-08, 0, 0, 0},
     {3.07e-05, 0, 1.32e-09, 0, 0, 0, 0, 0},
     {9.85e-06, 3.91e+04, 0, 2.18e-11, 0.837, 0, 2.32e+05, 1.2},
     {}},
    {1,
     6,
     4,
     0.25,
     {0.00128, 0, 0, 3.41e-07, 9.33e-08, 0, 0, 0},
     {3.11e-05, 0, 1.31e-09, 0, 2.17e-25, 0, 0, 0},
     {1.42e-05, 4.64e+04, 0, 3.26e-11, 1.11, 0, 2.54e+05, 0.439},
     {}},
};

// backend, kernel, precision, dimension, outputs, seconds of a pair
constexpr NearKernelCosts kernel_costs[] = {
    {1, 0, 0, 3, 1, 6e-13, 0},    {1, 0, 0, 3, 3, 6.8e-13, 0}, {1, 0, 1, 3, 3, 1.24e-12, 0},
    {1, 0, 2, 3, 3, 1.75e-12, 0}, {1, 1, 2, 2, 1, 4.4e-12, 0}, {1, 2, 0, 3, 3, 1.96e-12, 0},
    {1, 2, 1, 3, 3, 3.3e-12, 0},  {1, 2, 2, 3, 3, 5e-12, 0},   {1, 3, 0, 3, 3, 4.2e-12, 0},
    {1, 3, 1, 3, 3, 6.7e-12, 0},  {1, 3, 2, 3, 3, 7.7e-12, 0},
};

NearMachine make() {
    NearMachine near;
    std::copy(std::begin(layout_costs), std::end(layout_costs), near.layouts.begin());
    std::copy(std::begin(kernel_costs), std::end(kernel_costs), near.kernels.begin());
    return near;
}

} // namespace

const NearMachine& near_gpu_defaults() {
    static const NearMachine near = make();
    return near;
}

} // namespace graft::model
