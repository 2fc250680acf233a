// P2M and M2M, level by level from the deepest; every node by itself, children and particles in their order.
#include "moments/moments.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <cmath>

namespace graft::moments {

using tree::Node;
using tree::Tree;

namespace {

/// Smallest power of two >= radius; 1 for a point.
double length_scale(double radius) {
    if (radius == 0)
        return 1;
    int exponent = 0;
    const double mantissa = std::frexp(radius, &exponent);
    return std::ldexp(1.0, mantissa == 0.5 ? exponent - 1 : exponent);
}

/// Furthest corner of the tight box from c: a bound on any particle's distance.
double corner_distance(const geometry::Box& box, const double (&c)[3]) {
    double sum = 0;
    for (int a = 0; a < 3; ++a) {
        const double far = std::max(c[a] - box.lower[a], box.upper[a] - c[a]);
        sum += far * far;
    }
    return std::sqrt(sum);
}

void set_centre(Moments& m, int32_t node, const double (&c)[3], double radius) {
    m.cx[node] = c[0], m.cy[node] = c[1], m.cz[node] = c[2];
    m.radius[node] = radius;
    m.rho[node] = length_scale(radius);
}

/// Centre, radius and spread of a leaf from its particles.
void leaf_frame(const Tree& tree, int32_t index, Moments& m) {
    const Node& node = tree.nodes[index];
    const geometry::Box& box = tree.boxes[index];
    const int64_t end = node.first + node.count;
    const double origin[3] = {box.centre(0), box.centre(1), box.centre(2)};
    double weight = 0, sum[3] = {0, 0, 0};
    for (int64_t i = node.first; i < end; ++i) {
        const double w = std::abs(tree.charge[i]);
        weight += w;
        sum[0] += w * (tree.x[i] - origin[0]), sum[1] += w * (tree.y[i] - origin[1]),
            sum[2] += w * (tree.z[i] - origin[2]);
    }
    double c[3];
    for (int a = 0; a < 3; ++a) // rounding must not carry the centre out of the box
        c[a] = weight > 0 ? std::clamp(origin[a] + sum[a] / weight, box.lower[a], box.upper[a]) : origin[a];
    double largest = 0, spread = 0;
    for (int64_t i = node.first; i < end; ++i) {
        const double x = tree.x[i] - c[0], y = tree.y[i] - c[1], z = tree.z[i] - c[2];
        const double d2 = x * x + y * y + z * z;
        largest = std::max(largest, d2);
        spread += std::abs(tree.charge[i]) * d2;
    }
    m.magnitude[index] = weight;
    m.spread[index] = spread;
    set_centre(m, index, c, std::sqrt(largest) * (1 + 1e-15));
}

/// Centre, radius and spread of an inner node from its children (parallel-axis theorem for the spread).
void inner_frame(const Tree& tree, int32_t index, Moments& m) {
    const Node& node = tree.nodes[index];
    const geometry::Box& box = tree.boxes[index];
    const double origin[3] = {box.centre(0), box.centre(1), box.centre(2)};
    const int32_t end = node.first_child + node.child_count;
    double weight = 0, sum[3] = {0, 0, 0};
    for (int32_t k = node.first_child; k < end; ++k) {
        const double w = m.magnitude[k];
        weight += w;
        sum[0] += w * (m.cx[k] - origin[0]), sum[1] += w * (m.cy[k] - origin[1]),
            sum[2] += w * (m.cz[k] - origin[2]);
    }
    double c[3];
    for (int a = 0; a < 3; ++a)
        c[a] = weight > 0 ? std::clamp(origin[a] + sum[a] / weight, box.lower[a], box.upper[a]) : origin[a];
    double reach = 0, spread = 0;
    for (int32_t k = node.first_child; k < end; ++k) {
        const double x = m.cx[k] - c[0], y = m.cy[k] - c[1], z = m.cz[k] - c[2];
        const double d2 = x * x + y * y + z * z;
        reach = std::max(reach, std::sqrt(d2) + m.radius[k]);
        spread += m.spread[k] + m.magnitude[k] * d2;
    }
    m.magnitude[index] = weight;
    m.spread[index] = spread;
    set_centre(m, index, c, std::min(reach, corner_distance(box, c)) * (1 + 1e-15));
}

/// out[t] += q x^a y^b z^c for all terms t up to Order.
template <int Order>
void add_powers(double q, double x, double y, double z, double* out) {
    double power[max_terms];
    power[0] = q;
    out[0] += q;
    for (int t = 1; t < term_count(Order); ++t) {
        const Term term = terms[static_cast<size_t>(t)];
        if (term.a > 0)
            power[t] = power[term_index(term.a - 1, term.b, term.c)] * x;
        else if (term.b > 0)
            power[t] = power[term_index(0, term.b - 1, term.c)] * y;
        else
            power[t] = power[term_index(0, 0, term.c - 1)] * z;
        out[t] += power[t];
    }
}

template <int Order>
void p2m(const Tree& tree, int32_t index, Moments& m, double* out) {
    const Node& node = tree.nodes[index];
    const double inverse = 1 / m.rho[index];
    std::fill(out, out + term_count(Order), 0.0);
    for (int64_t i = node.first; i < node.first + node.count; ++i)
        add_powers<Order>(tree.charge[i], (tree.x[i] - m.cx[index]) * inverse,
                          (tree.y[i] - m.cy[index]) * inverse, (tree.z[i] - m.cz[index]) * inverse, out);
}

/// One axis of a binomial shift: the moments of all terms with the powers of this axis moved by s.
template <int Order, int Axis>
void shift_axis(double s, double* values) {
    for (int t = term_count(Order) - 1; t > 0; --t) { // high powers first: they read unshifted lower ones
        const Term term = terms[static_cast<size_t>(t)];
        const int n = Axis == 0 ? term.a : (Axis == 1 ? term.b : term.c);
        double power = s;
        for (int k = n - 1; k >= 0; --k) {
            const int from = Axis == 0   ? term_index(k, term.b, term.c)
                             : Axis == 1 ? term_index(term.a, k, term.c)
                                         : term_index(term.a, term.b, k);
            values[t] += binomial(n, k) * power * values[from];
            power *= s;
        }
    }
}

template <int Order>
void m2m(const Tree& tree, int32_t index, Moments& m, double* out) {
    const Node& node = tree.nodes[index];
    const double inverse = 1 / m.rho[index];
    std::fill(out, out + term_count(Order), 0.0);
    for (int32_t k = node.first_child; k < node.first_child + node.child_count; ++k) {
        double child[max_terms];
        const double* given = m.of(k);
        const double ratio = m.rho[k] * inverse;
        double power = 1;
        for (int order = 0, t = 0; order <= Order; ++order, power *= ratio)
            for (; t < term_count(order); ++t)
                child[t] = given[t] * power;
        shift_axis<Order, 0>((m.cx[k] - m.cx[index]) * inverse, child);
        shift_axis<Order, 1>((m.cy[k] - m.cy[index]) * inverse, child);
        shift_axis<Order, 2>((m.cz[k] - m.cz[index]) * inverse, child);
        for (int t = 0; t < term_count(Order); ++t)
            out[t] += child[t];
    }
}

template <int Order>
void node_moments(const Tree& tree, int32_t index, Moments& m) {
    double* out = m.values.data() + static_cast<int64_t>(index) * m.stride();
    if (tree.is_leaf(index)) {
        leaf_frame(tree, index, m);
        p2m<Order>(tree, index, m, out);
    } else {
        inner_frame(tree, index, m);
        m2m<Order>(tree, index, m, out);
    }
}

/// Largest length, and the weighted mean of the squares (the largest where all charges are zero).
void node_softening(const Tree& tree, int32_t index, Moments& m) {
    const Node& node = tree.nodes[index];
    double largest = 0, weight = 0, weighted = 0, plain = 0;
    const auto add = [&](double length, double square, double w) {
        largest = std::max(largest, length);
        weight += w;
        weighted += w * square;
        plain = std::max(plain, square);
    };
    if (tree.is_leaf(index))
        for (int64_t i = node.first; i < node.first + node.count; ++i)
            add(tree.softening[i], tree.softening[i] * tree.softening[i], std::abs(tree.charge[i]));
    else
        for (int32_t k = node.first_child; k < node.first_child + node.child_count; ++k)
            add(m.softening[k], m.softening_square[k], m.magnitude[k]);
    m.softening[index] = largest;
    m.softening_square[index] = weight > 0 ? weighted / weight : plain;
}

template <int Order>
void all_levels(const backend::Executor& executor, const Tree& tree, Moments& m) {
    for (int level = tree.levels() - 1; level >= 0; --level) {
        const int32_t begin = tree.level_offset[level];
        executor.for_each(
            tree.level_offset[level + 1] - begin,
            [&](int64_t k) {
                const int32_t index = begin + static_cast<int32_t>(k);
                node_moments<Order>(tree, index, m);
                if (!m.softening.empty())
                    node_softening(tree, index, m);
            },
            256);
    }
}

template <int Order>
void combine(const Tree& tree, int32_t index, Moments& m) {
    inner_frame(tree, index, m);
    m2m<Order>(tree, index, m, m.values.data() + static_cast<int64_t>(index) * m.stride());
    if (!m.softening.empty())
        node_softening(tree, index, m);
}

} // namespace

void resize_moments(Moments& m, int64_t nodes, bool with_softening) {
    for (core::Buffer<double>* buffer : {&m.cx, &m.cy, &m.cz, &m.magnitude, &m.radius, &m.spread, &m.rho})
        buffer->resize_keep(nodes);
    m.softening.resize_keep(with_softening ? nodes : 0);
    m.softening_square.resize_keep(m.softening.size());
    m.values.resize_keep(nodes * m.stride());
}

void combine_moments(const Tree& tree, int32_t node, Moments& m) {
    constexpr void (*combine_order[])(const Tree&, int32_t, Moments&) = {combine<0>, combine<1>, combine<2>,
                                                                         combine<3>, combine<4>};
    combine_order[m.order](tree, node, m);
}

void compute_moments(const backend::Executor& executor, const Tree& tree, int order, Moments& m) {
    const int64_t nodes = tree.node_count();
    m.order = order;
    for (core::Buffer<double>* buffer : {&m.cx, &m.cy, &m.cz, &m.magnitude, &m.radius, &m.spread, &m.rho})
        buffer->resize(nodes);
    m.softening.resize(tree.softening.empty() ? 0 : nodes);
    m.softening_square.resize(m.softening.size());
    m.values.resize(nodes * m.stride());
    switch (order) {
    case 0:
        return all_levels<0>(executor, tree, m);
    case 1:
        return all_levels<1>(executor, tree, m);
    case 2:
        return all_levels<2>(executor, tree, m);
    case 3:
        return all_levels<3>(executor, tree, m);
    case 4:
        return all_levels<4>(executor, tree, m);
    default:
        core::fail(core::Status::argument, "order is %d; expected 0 to 4", order);
    }
}

} // namespace graft::moments
