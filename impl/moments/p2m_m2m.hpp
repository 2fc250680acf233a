// SPDX-License-Identifier: BSD-3-Clause
// Frame and moments of one node: the bodies that CPU and GPU share. See moments.hpp.
//
// Every sum has one order (particles in tree order, children in theirs) and nothing here may be contracted to
// fused multiply-adds, so both sides get the same bits; frexp, ldexp, sqrt and / are exact or correctly
// rounded on both.
#pragma once

#include "core/host_device.hpp"
#include "geometry/box.hpp"
#include "moments/moment_terms.hpp"
#include "tree/tree.hpp"

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace graft::moments {

/// The arrays of a tree that moments are made of; softening may be null.
struct TreeArrays {
    const tree::Node* nodes;
    const geometry::Box* boxes;
    const double *x, *y, *z, *charge, *softening;
};

/// The arrays of Moments; both softening arrays may be null.
struct MomentArrays {
    double *cx, *cy, *cz, *magnitude, *radius, *spread, *rho, *softening, *softening_square, *values;
};

/// Calls each(integral_constant<int, t>) for t = Begin ... End - 1, unrolled.
template <int Begin, typename Each, int... T>
GRAFT_HD inline void for_sequence(const Each& each, std::integer_sequence<int, T...>) {
    (each(std::integral_constant<int, Begin + T>{}), ...);
}
template <int Begin, int End, typename Each>
GRAFT_HD inline void for_terms(const Each& each) {
    for_sequence<Begin>(each, std::make_integer_sequence<int, End - Begin>{});
}

/// Smallest power of two >= radius; 1 for a point.
GRAFT_HD inline double length_scale(double radius) {
    if (radius == 0)
        return 1;
    int exponent = 0;
    const double mantissa = std::frexp(radius, &exponent);
    return std::ldexp(1.0, mantissa == 0.5 ? exponent - 1 : exponent);
}

GRAFT_HD inline void set_centre(const MomentArrays& m, int32_t node, const double (&c)[3], double radius) {
    m.cx[node] = c[0];
    m.cy[node] = c[1];
    m.cz[node] = c[2];
    m.radius[node] = radius;
    m.rho[node] = length_scale(radius);
}

/// Centre of the weights; rounding must not carry it out of the box.
GRAFT_HD inline double centre_of(double origin, double sum, double weight, double lower, double upper) {
    if (!(weight > 0))
        return origin;
    const double c = origin + sum / weight;
    return c < lower ? lower : (upper < c ? upper : c);
}

/// Centre, radius and spread of a leaf from its particles.
GRAFT_HD inline void leaf_frame(const TreeArrays& tree, int32_t index, const MomentArrays& m) {
    const tree::Node node = tree.nodes[index];
    const geometry::Box& box = tree.boxes[index];
    const int64_t end = node.first + node.count;
    const double origin[3] = {box.centre(0), box.centre(1), box.centre(2)};
    double weight = 0, sum[3] = {0, 0, 0};
    for (int64_t i = node.first; i < end; ++i) {
        const double w = std::fabs(tree.charge[i]);
        weight += w;
        sum[0] += w * (tree.x[i] - origin[0]);
        sum[1] += w * (tree.y[i] - origin[1]);
        sum[2] += w * (tree.z[i] - origin[2]);
    }
    double c[3];
    for (int a = 0; a < 3; ++a)
        c[a] = centre_of(origin[a], sum[a], weight, box.lower[a], box.upper[a]);
    double largest = 0, spread = 0;
    for (int64_t i = node.first; i < end; ++i) {
        const double x = tree.x[i] - c[0], y = tree.y[i] - c[1], z = tree.z[i] - c[2];
        const double d2 = x * x + y * y + z * z;
        largest = geometry::larger(largest, d2);
        spread += std::fabs(tree.charge[i]) * d2;
    }
    m.magnitude[index] = weight;
    m.spread[index] = spread;
    set_centre(m, index, c, std::sqrt(largest) * (1 + 1e-15));
}

/// Centre, radius and spread of an inner node.
struct Frame {
    double c[3], magnitude, spread, radius;
};

/// From the node's children (parallel-axis theorem for the spread). Children offers magnitude(k), x(k), y(k),
/// z(k), radius(k) and spread(k) of child k = 0 ... count - 1.
template <typename Children>
GRAFT_HD inline Frame inner_frame(const geometry::Box& box, int32_t count, const Children& children) {
    const double origin[3] = {box.centre(0), box.centre(1), box.centre(2)};
    Frame frame;
    double weight = 0, sum[3] = {0, 0, 0};
    for (int32_t k = 0; k < count; ++k) {
        const double w = children.magnitude(k);
        weight += w;
        sum[0] += w * (children.x(k) - origin[0]), sum[1] += w * (children.y(k) - origin[1]),
            sum[2] += w * (children.z(k) - origin[2]);
    }
    for (int a = 0; a < 3; ++a)
        frame.c[a] = centre_of(origin[a], sum[a], weight, box.lower[a], box.upper[a]);
    double reach = 0, spread = 0;
    for (int32_t k = 0; k < count; ++k) {
        const double x = children.x(k) - frame.c[0], y = children.y(k) - frame.c[1],
                     z = children.z(k) - frame.c[2];
        const double d2 = x * x + y * y + z * z;
        reach = geometry::larger(reach, std::sqrt(d2) + children.radius(k));
        spread += children.spread(k) + children.magnitude(k) * d2;
    }
    frame.magnitude = weight;
    frame.spread = spread;
    frame.radius = geometry::smaller(reach, box.furthest(frame.c)) * (1 + 1e-15);
    return frame;
}

/// Children as they stand in the arrays, from `first` on.
struct StoredChildren {
    const MomentArrays& m;
    int32_t first;
    GRAFT_HD double magnitude(int32_t k) const { return m.magnitude[first + k]; }
    GRAFT_HD double x(int32_t k) const { return m.cx[first + k]; }
    GRAFT_HD double y(int32_t k) const { return m.cy[first + k]; }
    GRAFT_HD double z(int32_t k) const { return m.cz[first + k]; }
    GRAFT_HD double radius(int32_t k) const { return m.radius[first + k]; }
    GRAFT_HD double spread(int32_t k) const { return m.spread[first + k]; }
};

GRAFT_HD inline void store_frame(const Frame& frame, int32_t index, const MomentArrays& m) {
    m.magnitude[index] = frame.magnitude;
    m.spread[index] = frame.spread;
    set_centre(m, index, frame.c, frame.radius);
}

/// out[t] += q x^a y^b z^c for all terms t up to Order.
template <int Order>
GRAFT_HD inline void add_powers(double q, double x, double y, double z, double (&out)[term_count(Order)]) {
    double power[term_count(Order)];
    power[0] = q;
    out[0] += q;
    for_terms<1, term_count(Order)>([&](auto t) {
        constexpr Term term = terms[static_cast<std::size_t>(t())];
        if constexpr (term.a > 0)
            power[t()] = power[term_index(term.a - 1, term.b, term.c)] * x;
        else if constexpr (term.b > 0)
            power[t()] = power[term_index(0, term.b - 1, term.c)] * y;
        else
            power[t()] = power[term_index(0, 0, term.c - 1)] * z;
        out[t()] += power[t()];
    });
}

template <int Order>
GRAFT_HD inline void p2m(const TreeArrays& tree, int32_t index, const MomentArrays& m, double* to) {
    const tree::Node node = tree.nodes[index];
    const double inverse = 1 / m.rho[index];
    const double cx = m.cx[index], cy = m.cy[index], cz = m.cz[index];
    double out[term_count(Order)] = {};
    for (int64_t i = node.first; i < node.first + node.count; ++i)
        add_powers<Order>(tree.charge[i], (tree.x[i] - cx) * inverse, (tree.y[i] - cy) * inverse,
                          (tree.z[i] - cz) * inverse, out);
    for_terms<0, term_count(Order)>([&](auto t) { to[t()] = out[t()]; });
}

/// Index of the term with k for the power of this axis.
template <int Axis>
constexpr int lowered(Term term, int k) {
    return Axis == 0   ? term_index(k, term.b, term.c)
           : Axis == 1 ? term_index(term.a, k, term.c)
                       : term_index(term.a, term.b, k);
}

/// One axis of a binomial shift: the moments of all terms with the powers of this axis moved by s.
template <int Order, int Axis>
GRAFT_HD inline void shift_axis(double s, double (&values)[term_count(Order)]) {
    for_terms<1, term_count(Order)>([&](auto up) {
        constexpr int t = term_count(Order) - up(); // high powers first: they read unshifted lower ones
        constexpr Term term = terms[static_cast<std::size_t>(t)];
        constexpr int n = Axis == 0 ? term.a : (Axis == 1 ? term.b : term.c);
        double power = s;
        for_terms<0, n>([&](auto down) {
            constexpr int k = n - 1 - down();
            constexpr int choices = binomial(n, k), from = lowered<Axis>(term, k);
            values[t] += choices * power * values[from];
            power *= s;
        });
    });
}

/// Moments `given` of a child of length rho and centre c + (dx, dy, dz), about the parent's centre c, in
/// units of the parent's length (inverse = 1 / length).
template <int Order>
GRAFT_HD inline void shift_child(const double* given, double rho, double dx, double dy, double dz,
                                 double inverse, double (&child)[term_count(Order)]) {
    const double ratio = rho * inverse;
    double power = 1;
    for_terms<0, Order + 1>([&](auto order) {
        for_terms<term_count(order() - 1), term_count(order())>(
            [&](auto t) { child[t()] = given[t()] * power; });
        power *= ratio;
    });
    shift_axis<Order, 0>(dx * inverse, child);
    shift_axis<Order, 1>(dy * inverse, child);
    shift_axis<Order, 2>(dz * inverse, child);
}

template <int Order>
GRAFT_HD inline void m2m(const TreeArrays& tree, int32_t index, const MomentArrays& m, double* to) {
    const tree::Node node = tree.nodes[index];
    const double c[3] = {m.cx[index], m.cy[index], m.cz[index]};
    const double inverse = 1 / m.rho[index];
    double out[term_count(Order)] = {};
    for (int32_t k = node.first_child; k < node.first_child + node.child_count; ++k) {
        double child[term_count(Order)];
        shift_child<Order>(m.values + static_cast<int64_t>(k) * term_count(Order), m.rho[k], m.cx[k] - c[0],
                           m.cy[k] - c[1], m.cz[k] - c[2], inverse, child);
        for_terms<0, term_count(Order)>([&](auto t) { out[t()] += child[t()]; });
    }
    for_terms<0, term_count(Order)>([&](auto t) { to[t()] = out[t()]; });
}

/// Largest length, and the weighted mean of the squares (the largest where all charges are zero).
struct SofteningSum {
    double largest = 0, weight = 0, weighted = 0, plain = 0;
    GRAFT_HD void add(double length, double square, double w) {
        largest = geometry::larger(largest, length);
        weight += w;
        weighted += w * square;
        plain = geometry::larger(plain, square);
    }
};

GRAFT_HD inline void node_softening(const TreeArrays& tree, int32_t index, const MomentArrays& m) {
    const tree::Node node = tree.nodes[index];
    SofteningSum sum;
    if (node.child_count == 0)
        for (int64_t i = node.first; i < node.first + node.count; ++i)
            sum.add(tree.softening[i], tree.softening[i] * tree.softening[i], std::fabs(tree.charge[i]));
    else
        for (int32_t k = node.first_child; k < node.first_child + node.child_count; ++k)
            sum.add(m.softening[k], m.softening_square[k], m.magnitude[k]);
    m.softening[index] = sum.largest;
    m.softening_square[index] = sum.weight > 0 ? sum.weighted / sum.weight : sum.plain;
}

} // namespace graft::moments
