// SPDX-License-Identifier: BSD-3-Clause
// P2M and M2M, level by level from the deepest; every node by itself, children and particles in their order.
#include "moments/moments.hpp"

#include "core/error.hpp"
#include "moments/harmonic_moments.hpp"
#include "moments/p2m_m2m.hpp"

namespace graft::moments {

using tree::Tree;

namespace {

TreeArrays arrays_of(const Tree& tree) {
    return {tree.nodes.data(), tree.boxes.data(),  tree.x.data(),        tree.y.data(),
            tree.z.data(),     tree.charge.data(), tree.softening.data()};
}

MomentArrays arrays_of(Moments& m) {
    return {m.cx.data(),     m.cy.data(),  m.cz.data(),        m.magnitude.data(),        m.radius.data(),
            m.spread.data(), m.rho.data(), m.softening.data(), m.softening_square.data(), m.values.data()};
}

/// P2M and M2M of one order.
template <int order>
struct Cartesian {
    static void leaf(const TreeArrays& tree, int32_t index, const MomentArrays& m) {
        p2m<order>(tree, index, m, m.values + int64_t{index} * term_count(order));
    }
    static void inner(const TreeArrays& tree, int32_t index, const MomentArrays& m) {
        m2m<order>(tree, index, m, m.values + int64_t{index} * term_count(order));
    }
};
struct Harmonic {
    int order;
    void leaf(const TreeArrays& tree, int32_t index, const MomentArrays& m) const { harmonic_p2m(order, tree, index, m); }
    void inner(const TreeArrays& tree, int32_t index, const MomentArrays& m) const { harmonic_m2m(order, tree, index, m); }
};

/// body(what makes moments of this order)
template <typename Body>
void with_order(int order, const Body& body) {
    switch (order) {
    case 0:
        return body(Cartesian<0>{});
    case 1:
        return body(Cartesian<1>{});
    case 2:
        return body(Cartesian<2>{});
    case 3:
        return body(Cartesian<3>{});
    case 4:
        return body(Cartesian<4>{});
    default:
        if (order < 0 || order > max_order)
            core::fail(core::Status::argument, "order is %d; expected 0 to %d", order, max_order);
        return body(Harmonic{order});
    }
}

template <typename Terms>
void combine(const Terms& terms_of, const TreeArrays& tree, int32_t index, const MomentArrays& m) {
    const tree::Node& node = tree.nodes[index];
    store_frame(inner_frame(tree.boxes[index], node.child_count, StoredChildren{m, node.first_child}), index,
                m);
    terms_of.inner(tree, index, m);
}

template <typename Terms>
void node_moments(const Terms& terms_of, const TreeArrays& tree, int32_t index, const MomentArrays& m) {
    if (tree.nodes[index].child_count > 0)
        return combine(terms_of, tree, index, m);
    leaf_frame(tree, index, m);
    terms_of.leaf(tree, index, m);
}

template <typename Terms>
void all_levels(const Terms& terms_of, const backend::Executor& executor, const Tree& tree, Moments& moments) {
    const TreeArrays arrays = arrays_of(tree);
    const MomentArrays m = arrays_of(moments);
    const bool softened = !moments.softening.empty();
    for (int level = tree.levels() - 1; level >= 0; --level) {
        const int32_t begin = tree.level_offset[level];
        executor.for_each(
            tree.level_offset[level + 1] - begin,
            [&](int64_t k) {
                const int32_t index = begin + static_cast<int32_t>(k);
                node_moments(terms_of, arrays, index, m);
                if (softened)
                    node_softening(arrays, index, m);
            },
            256);
    }
}

} // namespace

void resize_moments(Moments& m, int64_t nodes, bool with_softening) {
    for (core::Buffer<double>* buffer : {&m.cx, &m.cy, &m.cz, &m.magnitude, &m.radius, &m.spread, &m.rho})
        buffer->resize_keep(nodes);
    m.softening.resize_keep(with_softening ? nodes : 0);
    m.softening_square.resize_keep(m.softening.size());
    m.values.resize_keep(nodes * m.stride());
}

void combine_moments(const Tree& tree, int32_t node, Moments& moments) {
    const TreeArrays arrays = arrays_of(tree);
    const MomentArrays m = arrays_of(moments);
    with_order(moments.order, [&](const auto& terms_of) { combine(terms_of, arrays, node, m); });
    if (!moments.softening.empty())
        node_softening(arrays, node, m);
}

void compute_moments(const backend::Executor& executor, const Tree& tree, int order, Moments& m) {
    const int64_t nodes = tree.node_count();
    m.order = order;
    for (core::Buffer<double>* buffer : {&m.cx, &m.cy, &m.cz, &m.magnitude, &m.radius, &m.spread, &m.rho})
        buffer->resize(nodes);
    m.softening.resize(tree.softening.empty() ? 0 : nodes);
    m.softening_square.resize(m.softening.size());
    m.values.resize(nodes * m.stride());
    with_order(order, [&](const auto& terms_of) { all_levels(terms_of, executor, tree, m); });
}

} // namespace graft::moments
