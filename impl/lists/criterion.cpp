// SPDX-License-Identifier: BSD-3-Clause
// See criterion.hpp.
#include "lists/criterion.hpp"

#include "core/error.hpp"
#include "lists/node_criterion.hpp"

namespace graft::lists {

namespace {

NodeFacts facts_of(const tree::Tree& tree, const NodeProperties& properties, int64_t i) {
    return {tree.boxes[i],    tree.edges[i],        properties.cx[i],    properties.cy[i],
            properties.cz[i], properties.radius[i], tree.nodes[i].count, tree.nodes[i].child_count};
}

bool is_terminal(const tree::Tree& tree, const CriterionOptions& options, int64_t i) {
    return is_terminal(options, tree.nodes[i].child_count, tree.nodes[i].count);
}

Link link_of(const tree::Tree& tree, const CriterionOptions& options, int64_t i) {
    const tree::Node& node = tree.nodes[i];
    Link link;
    if (is_terminal(tree, options, i))
        return link;
    link.first_child = node.first_child;
    link.child_count = static_cast<uint8_t>(node.child_count);
    for (int c = 0; c < node.child_count; ++c)
        if (is_terminal(tree, options, node.first_child + c))
            link.terminal_mask = static_cast<uint8_t>(link.terminal_mask | 1 << c);
    return link;
}

} // namespace

void check_angle(const CriterionOptions& options) {
    if (!(options.theta >= 0))
        core::fail(core::Status::argument, "mac.theta: expected an opening angle >= 0, found %g", options.theta);
}

void fill_criterion(const backend::Executor& executor, const tree::Tree& tree,
                    const CriterionOptions& options, const NodeProperties& properties, Criterion& criterion) {
    criterion.root = 0;
    criterion.levels = tree.levels();
    criterion.compact_softening = options.compact_softening;
    criterion.softening_length = options.softening_length;
    for (core::Buffer<double>* values :
         {&criterion.cx, &criterion.cy, &criterion.cz, &criterion.a, &criterion.b})
        values->resize(tree.node_count() + Criterion::padding); // no doubling, as resize_keep would
    criterion.links.resize(tree.node_count());
    criterion.softening.resize(properties.softening != nullptr ? tree.node_count() : 0);
    extend_criterion(executor, tree, 0, options, properties, criterion);
    criterion.root_terminal = tree.node_count() > 0 && is_terminal(tree, options, 0);
}

void extend_criterion(const backend::Executor& executor, const tree::Tree& tree, int64_t begin,
                      const CriterionOptions& options, const NodeProperties& properties,
                      Criterion& criterion) {
    check_angle(options);
    const int64_t n = tree.node_count();
    criterion.resize_keep(n, properties.softening != nullptr);
    executor.for_each(
        n - begin,
        [&](int64_t k) {
            const int64_t i = begin + k;
            criterion.cx[i] = properties.cx[i];
            criterion.cy[i] = properties.cy[i];
            criterion.cz[i] = properties.cz[i];
            criterion.a[i] =
                options.mac == Mac::error && properties.reach != nullptr ? properties.reach[i] : 0.0;
            criterion.b[i] = mac_radius(options, 0.0, facts_of(tree, properties, i));
            if (properties.softening != nullptr)
                criterion.softening[i] = properties.softening[i];
            criterion.links[i] = link_of(tree, options, i);
        },
        1024);
}

void Criterion::resize_keep(int64_t nodes, bool with_softening) {
    node_count = nodes;
    for (core::Buffer<double>* values : {&cx, &cy, &cz, &a, &b}) {
        values->resize_keep(nodes + padding);
        std::fill(values->begin() + nodes, values->end(), 0.0);
    }
    softening.resize_keep(with_softening ? nodes : 0);
    links.resize_keep(nodes);
}

} // namespace graft::lists
