// SPDX-License-Identifier: BSD-3-Clause
// See tree_step_gpu.cuh.
#include "engine/gpu/tree_step_gpu.cuh"

#include "backend/exact_memory_gpu.cuh"
#include "tree/tree_refresh_gpu.cuh"

#include <algorithm>

namespace graft::engine {

void TreeStep::build(Computation& c, const ImportStep& from) {
    const settings::Settings& settings = c.job.settings;
    tree::TwoPhase two_phase;
    two_phase.top_depth = settings.device.top_depth;
    tree::TreeOptions options = octree_options(settings);
    if (c.root_of_most.edge > 0) {
        options.has_root = options.root_of_most = true;
        std::copy_n(c.root_of_most.lower, 3, options.root_lower);
        options.root_edge = c.root_of_most.edge;
    }
    builder_.build(c.queue, options, from.view(c.job), tree,
                   static_cast<tree::DeviceBuild>(settings.device.build), two_phase);
    c.mark(DeviceClock::built);
}

void TreeStep::build_in_place(Computation& c, const tree::DeviceColumns& columns) {
    for (backend::DeviceBuffer<double>* column : columns.lent)
        backend::resize_exactly(*column, c.job.n);
    in_place_.build(c.queue, octree_options(c.job.settings), columns, tree);
    c.mark(DeviceClock::built);
}

void TreeStep::refresh(Computation& c, const ImportStep& from, int64_t levels) {
    tree::refresh_tree(c.queue, from.view(c.job), static_cast<int>(levels), tree);
    c.mark(DeviceClock::built);
}

void TreeStep::sum_moments(Computation& c) {
    moments::compute_moments(c.queue, tree, c.job.settings.order, moments);
}

void TreeStep::fill_expansion(Computation& c) {
    moments::fill_expansion(c.queue, tree, c.job.pairs.softening == forces::Softening::plummer,
                            c.job.settings.precision == settings::Precision::fp64, moments);
}

void TreeStep::give_back(Computation& c, const tree::DeviceColumns& columns, bool with_contents) {
    in_place_.give_back(c.queue, columns, tree, with_contents);
}

} // namespace graft::engine
