// SPDX-License-Identifier: BSD-3-Clause
// See forest.hpp.
#include "essential/forest.hpp"

#include "lists/error_reach.hpp"
#include "lists/field_estimate.hpp"
#include "lists/split_cells.hpp"

#include <algorithm>
#include <cmath>

namespace graft::essential {

namespace {

constexpr int64_t direct_counts[moments::cartesian_order + 1] = {1, 2, 3, 5, 8}; // 8 of higher orders

double reach_of(const moments::Moments& m, int64_t k, const settings::Settings& settings) {
    const bool plummer = !m.softening.empty() && settings.softening == settings::Softening::plummer;
    return lists::error_reach(settings.order, m.magnitude[k], m.spread[k], m.radius[k], plummer,
                       plummer ? m.softening[k] : 0, plummer ? m.softening_square[k] : 0);
}

/// The cell of the root cube's grid that holds the node; of a k-d tree the node's box.
geometry::Box cell_of(const tree::Tree& tree, int32_t node) {
    const bool octree = tree.options.type == tree::TreeType::octree;
    return lists::cell_around(tree.boxes[node], tree.root_lower, octree ? tree.edges[node] : 0);
}

} // namespace

int64_t direct_count(const settings::Settings& settings) {
    return direct_counts[std::min(settings.order, moments::cartesian_order)];
}

lists::CriterionOptions criterion_options(const settings::Settings& settings) {
    lists::CriterionOptions options;
    options.mac = settings.mac;
    options.theta = settings.theta;
    options.direct_count = direct_count(settings);
    options.compact_softening = settings.softening == settings::Softening::spline;
    options.softening_length = settings.softening_length;
    return options;
}

void Forest::find_heaps(int leaf) {
    heap_of.resize(0);
    heaps.resize_keep(0, false);
    if (!tree.softening.empty()) // they may differ in their lengths
        return;
    for (int32_t k = 0; k < tree.node_count(); ++k) {
        const tree::Node& node = tree.nodes[k];
        if (node.child_count > 0 || node.count <= leaf)
            continue;
        if (heap_of.empty()) {
            heap_of.resize(tree.node_count());
            std::fill(heap_of.begin(), heap_of.end(), -1);
        }
        double charge = 0;
        for (int64_t i = node.first; i < node.first + node.count; ++i)
            charge += tree.charge[i];
        heap_of[k] = static_cast<int32_t>(heaps.x.size());
        heaps.x.push_back(tree.x[node.first]);
        heaps.y.push_back(tree.y[node.first]);
        heaps.z.push_back(tree.z[node.first]);
        heaps.charge.push_back(charge);
    }
}

void Forest::fill_own_criterion(const backend::Executor& executor, const settings::Settings& settings) {
    fill_criterion(executor, settings, 0, true);
}

void Forest::fill_top_criterion(const backend::Executor& executor, const settings::Settings& settings) {
    fill_criterion(executor, settings, own_end, false);
}

void Forest::fill_criterion(const backend::Executor& executor, const settings::Settings& settings, int64_t begin,
                            bool own) {
    const bool error = settings.mac == settings::MacType::error;
    const int64_t nodes = tree.node_count();
    if (error) {
        own ? reach.resize(nodes) : reach.resize_keep(nodes);
        executor.for_each(nodes - begin,
                          [&](int64_t k) { reach[begin + k] = reach_of(moments, begin + k, settings); });
    }
    lists::CriterionOptions options = criterion_options(settings);
    if (!own)
        options.direct_count = -1; // the top counts no particles
    lists::NodeProperties properties;
    properties.cx = moments.cx.data();
    properties.cy = moments.cy.data();
    properties.cz = moments.cz.data();
    properties.radius = moments.radius.data();
    properties.reach = error ? reach.data() : nullptr;
    properties.softening = moments.softening.empty() ? nullptr : moments.softening.data();
    if (own)
        lists::fill_criterion(executor, tree, options, properties, criterion);
    else
        lists::extend_criterion(executor, tree, begin, options, properties, criterion);
}

void Forest::keep_off_pieces(const backend::Executor& executor, const settings::Settings& settings,
                             const std::vector<geometry::Box>& others) {
    executor.for_each(
        own_end,
        [&](int64_t k) {
            const geometry::Box cell = cell_of(tree, static_cast<int32_t>(k));
            if (std::any_of(others.begin(), others.end(),
                            [&](const geometry::Box& other) { return lists::meet(cell, other); }))
                keep_off(settings, k);
        },
        256);
}

void Forest::keep_off(const settings::Settings& settings, int64_t node) {
    lists::keep_off_piece(settings.mac == settings::MacType::error, moments.radius[node], criterion.a[node],
                   criterion.b[node]);
}

void Forest::resize_remote(const settings::Settings& settings, int64_t node_count, int64_t particle_count, bool lengths,
                           int64_t record_bytes) {
    tree.nodes.resize_keep(node_count);
    tree.boxes.resize_keep(node_count);
    for (core::Buffer<double>* values :
         {&moments.cx, &moments.cy, &moments.cz, &moments.radius, &moments.rho, &moments.magnitude})
        values->resize_keep(node_count);
    moments.softening_square.resize_keep(lengths ? node_count : 0);
    criterion.resize_keep(node_count, lengths);
    if (settings.precision == settings::Precision::fp64)
        full.resize_keep(node_count * record_bytes / static_cast<int64_t>(sizeof(double)));
    else
        single.resize_keep(node_count * record_bytes / static_cast<int64_t>(sizeof(float)));
    remote.resize_keep(particle_count, lengths);
}

void Forest::resize_masses(int64_t node_count, bool lengths) {
    tree.nodes.resize_keep(node_count);
    tree.boxes.resize_keep(node_count);
    for (core::Buffer<double>* values : {&moments.cx, &moments.cy, &moments.cz, &moments.magnitude})
        values->resize_keep(node_count);
    for (core::Buffer<double>* values : {&moments.softening, &moments.softening_square})
        values->resize_keep(lengths ? node_count : 0);
}

void Forest::set_remote(int64_t node, const PackedNode& packed) {
    moments.cx[node] = packed.centre[0];
    moments.cy[node] = packed.centre[1];
    moments.cz[node] = packed.centre[2];
    moments.radius[node] = packed.rho;
    moments.rho[node] = packed.rho > 0 ? packed.rho : 1;
    moments.magnitude[node] = packed.magnitude;
    criterion.cx[node] = packed.centre[0];
    criterion.cy[node] = packed.centre[1];
    criterion.cz[node] = packed.centre[2];
    criterion.a[node] = packed.a;
    criterion.b[node] = packed.b;
    if (!moments.softening_square.empty()) {
        moments.softening_square[node] = packed.softening_square;
        criterion.softening[node] = packed.softening;
    }
    tree.boxes[node] = packed.box;
}

double Forest::estimated_softening(const settings::Settings& settings, int64_t node) const {
    return lists::estimated_softening({settings, true}, moments, node);
}

void Forest::set_mass(int64_t node, const PackedMass& mass) {
    moments.cx[node] = mass.centre[0];
    moments.cy[node] = mass.centre[1];
    moments.cz[node] = mass.centre[2];
    moments.magnitude[node] = mass.magnitude;
    tree.boxes[node] = {{0, 0, 0}, {mass.edge, 0, 0}}; // only its size is asked for
    if (!moments.softening.empty()) {
        moments.softening[node] = mass.softening;
        moments.softening_square[node] = mass.softening * mass.softening;
    }
}

void Forest::link_remote(int32_t index) {
    const tree::Node& node = tree.nodes[index];
    lists::Link& link = criterion.links[index];
    link = {node.first_child, static_cast<uint8_t>(node.child_count), 0, 0};
    for (int c = 0; c < node.child_count; ++c)
        if (tree.nodes[node.first_child + c].child_count == 0)
            link.terminal_mask = static_cast<uint8_t>(link.terminal_mask | 1 << c);
}

void Forest::fill_expansions(const backend::Executor& executor, const settings::Settings& settings, bool softened,
                             int32_t begin) {
    const auto fill = [&](auto& out) {
        if (begin == 0)
            moments::fill_expansion(executor, moments, softened, out);
        else
            moments::extend_expansion(executor, moments, softened, begin, moments.magnitude.size(), out);
    };
    settings.precision == settings::Precision::fp64 ? fill(full) : fill(single);
}

} // namespace graft::essential
