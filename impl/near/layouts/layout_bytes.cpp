// SPDX-License-Identifier: BSD-3-Clause
// What layouts want to know of a structure before they are built, and the bytes of their arrays.
#include "near/layouts/layout_base.hpp"
#include "near/neighbour_runs.hpp"

namespace graft::near {
namespace {

struct Sizes {
    double targets, sources, boxes, real, number, planes, components; // bytes of T and V; V arrays a point
};

Sizes sizes_of(const Shape& shape) {
    const bool mixed = shape.precision == Precision::mixed;
    const double real = shape.precision == Precision::fp32 ? 4 : 8;
    return {static_cast<double>(shape.targets),
            static_cast<double>(shape.sources),
            static_cast<double>(shape.boxes),
            real,
            mixed ? 4 : real,
            static_cast<double>(shape.dimension * (mixed ? 2 : 1)),
            static_cast<double>(shape.components)};
}

/// Sorted places and charges, as ranges and tiled keep them.
double sorted_bytes(const Shape& shape) {
    const Sizes z = sizes_of(shape);
    const double points = (z.sources + record_step) + (shape.same ? 0 : z.targets + record_step);
    return z.number * (z.planes * points + z.components * (z.sources + record_step)) +
           8 * static_cast<double>(shape.runs) + 8 * (z.boxes + 1);
}

/// The same in chunks of one box.
double least_sorted_bytes(const Shape& shape) {
    const Sizes z = sizes_of(shape);
    const double step = static_cast<double>(record_step), most = static_cast<double>(shape.most_sources);
    const double chunk = z.number * ((z.planes + z.components) * (most + step) +
                                     z.planes * (static_cast<double>(shape.most_targets) + step)) +
                         16 * std::min(most, static_cast<double>(shape.neighbours)) + 16;
    return std::min(sorted_bytes(shape), chunk + 4 * static_cast<double>(shape.source_boxes));
}

/// Of all boxes (whole) or of the fullest alone.
double record_bytes(Layout layout, const Shape& shape, bool whole) {
    const Sizes z = sizes_of(shape);
    const double targets = whole ? z.targets : static_cast<double>(shape.most_targets);
    const double most_sources = static_cast<double>(shape.most_sources);
    const double step = static_cast<double>(record_step);
    switch (layout) {
    case Layout::indexed:
        return 4 * (targets + (whole ? static_cast<double>(shape.gathered) : most_sources));
    case Layout::replicated:
        return z.real * targets * (shape.dimension + 1 + most_sources * (shape.dimension + z.components));
    case Layout::replicated_packed:
        return z.real * (targets * (shape.dimension + 1) +
                         (whole ? static_cast<double>(shape.pairs) : targets * most_sources) *
                             (shape.dimension + z.components));
    case Layout::replicated_interleaved: {
        const double columns = whole ? static_cast<double>(shape.lane_targets) : targets + step;
        return z.number * (z.planes * columns +
                           (z.planes + z.components) * (whole ? shape.lane_pairs : columns * most_sources));
    }
    case Layout::replicated_group:
        return z.number * (z.planes * targets +
                           (z.planes + z.components) *
                               (whole ? static_cast<double>(shape.group_slots) : most_sources + step));
    case Layout::replicated_group_padded:
        return z.number *
               (z.planes * targets + (z.planes + z.components) * (whole ? z.boxes : 1) *
                                         static_cast<double>(round_up(shape.most_sources, record_step)));
    default:
        return 0;
    }
}

double fixed_bytes(Layout layout, const Shape& shape, int32_t threads, bool whole) {
    const Sizes z = sizes_of(shape);
    const double common = common_bytes(shape, threads);
    switch (layout) {
    case Layout::indexed:
    case Layout::replicated_interleaved:
        return common + 16 * (z.boxes + 1);
    case Layout::replicated:
    case Layout::replicated_group_padded:
        return common;
    case Layout::replicated_packed:
    case Layout::replicated_group:
        return common + 8 * (z.boxes + 1);
    case Layout::ranges:
        return common + (whole ? sorted_bytes(shape) : least_sorted_bytes(shape));
    default:
        return common + (whole ? sorted_bytes(shape) : least_sorted_bytes(shape)) +
               threads * z.number * (z.planes + z.components) * static_cast<double>(gather_slots(shape));
    }
}

/// What walks over the neighbours, of the boxes [begin, end).
Shape count_boxes(const Structure& structure, int64_t lanes, int64_t begin, int64_t end) {
    Shape shape;
    for (int64_t b = begin; b < end; ++b) {
        const int64_t targets = structure.target_offset[b + 1] - structure.target_offset[b];
        int64_t sources = 0, runs = 0, slots = 0;
        for_runs(structure, b, [&](int64_t, int64_t count) {
            sources += count;
            slots += round_up(count, lanes);
            ++runs;
        });
        shape.gathered += sources;
        shape.most_sources = std::max(shape.most_sources, sources);
        if (targets == 0)
            continue;
        shape.pairs += targets * sources;
        shape.warp_pairs += static_cast<double>(round_up(targets, 32)) * static_cast<double>(sources);
        shape.most_targets = std::max(shape.most_targets, targets);
        shape.largest = std::max(shape.largest, targets);
        shape.group_slots += round_up(sources, record_step);
        shape.runs += runs;
        shape.lane_targets += round_up(targets, lanes);
        shape.lane_pairs += static_cast<double>(round_up(targets, lanes)) * static_cast<double>(sources);
        shape.row_slots += static_cast<double>(targets) * static_cast<double>(slots);
    }
    return shape;
}

/// Whole numbers below 2^53: any order gives the same.
void add_counts(Shape& to, const Shape& part) {
    for (int64_t Shape::*field :
         {&Shape::pairs, &Shape::gathered, &Shape::group_slots, &Shape::lane_targets, &Shape::runs})
        to.*field += part.*field;
    for (double Shape::*field : {&Shape::warp_pairs, &Shape::lane_pairs, &Shape::row_slots})
        to.*field += part.*field;
    for (int64_t Shape::*field : {&Shape::most_sources, &Shape::most_targets, &Shape::largest})
        to.*field = std::max(to.*field, part.*field);
}

} // namespace

void count_gathered(const Structure& structure, const Sums& sums, int32_t threads, Shape& shape) {
    const int64_t lanes = sums.precision == Precision::fp64 ? tile_lanes<double>() : tile_lanes<float>();
    core::Memory none;
    const backend::Executor executor{none, backend::resolve_threads(threads)};
    std::vector<Shape> parts(static_cast<size_t>(executor.threads));
    executor.for_blocks(structure.target_boxes(), 1024, [&](int64_t begin, int64_t end, int thread) {
        add_counts(parts[static_cast<size_t>(thread)], count_boxes(structure, lanes, begin, end));
    });
    Shape counts;
    for (const Shape& part : parts)
        add_counts(counts, part);
    shape.lane_pairs = shape.row_slots = shape.warp_pairs = 0;
    shape.pairs = shape.most_sources = 0;
    shape.most_targets = shape.gathered = shape.group_slots = shape.lane_targets = shape.runs = 0;
    add_counts(shape, counts);
}

double bytes_of(Layout layout, const Shape& shape, int32_t threads) {
    return fixed_bytes(layout, shape, threads, true) + record_bytes(layout, shape, true);
}

double least_bytes_of(Layout layout, const Shape& shape, int32_t threads) {
    return fixed_bytes(layout, shape, threads, false) + record_bytes(layout, shape, false);
}

} // namespace graft::near
