// SPDX-License-Identifier: BSD-3-Clause
// A near field to test layouts with: boxes, lists, points and charges, and the plain nested loop that says
// what the sums are. The loop shares no code with the layouts: kernels are written out again, in long double.
#pragma once

#include "near/layouts/layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <random>
#include <vector>

namespace near_case {

namespace near = graft::near;
using Wide = long double;

struct Case {
    std::vector<int64_t> target_offset, source_offset, neighbour_offset, target_index, source_index;
    std::vector<int32_t> neighbour;
    std::array<std::vector<double>, 3> target, source; // same: source = target
    std::vector<std::vector<double>> charge;           // components
    std::vector<double> knot_value, knot_derivative;
    bool same = true;

    near::Structure structure() const {
        return {target_offset,
                same ? target_offset : source_offset,
                neighbour_offset,
                neighbour,
                target_index,
                same ? target_index : source_index,
                same};
    }
};

struct Shape {
    int64_t boxes = 12;
    int64_t most = 9;       // points a box: 0...most
    int64_t neighbours = 5; // besides itself
    double offset = 0;      // of all coordinates
    bool same = true, indexed = false, coincident = false;
    int64_t in_first = -1; // points of box 0
};

inline void add_boxes(std::vector<int64_t>& offset, const Shape& shape, std::mt19937_64& random) {
    offset.assign(1, 0);
    for (int64_t b = 0; b < shape.boxes; ++b) {
        const int64_t any = static_cast<int64_t>(random() % static_cast<uint64_t>(shape.most + 1));
        offset.push_back(offset.back() + (b == 0 && shape.in_first >= 0 ? shape.in_first : any));
    }
}
/// Points of the boxes in a row of cubes of edge 1, every fourth exactly on another one.
inline void add_points(std::array<std::vector<double>, 3>& place, std::vector<int64_t>& index,
                       const std::vector<int64_t>& offset, const Shape& shape, bool single,
                       std::mt19937_64& random) {
    std::uniform_real_distribution<double> uniform(0, 1);
    const size_t n = static_cast<size_t>(offset.back());
    for (auto& axis : place)
        axis.assign(n, shape.offset);
    if (shape.indexed) {
        index.resize(n);
        for (size_t s = 0; s < n; ++s)
            index[s] = static_cast<int64_t>(s);
        std::shuffle(index.begin(), index.end(), random);
    }
    for (size_t b = 0; b + 1 < offset.size(); ++b)
        for (int64_t s = offset[b]; s < offset[b + 1] && !shape.coincident; ++s) {
            const size_t point = static_cast<size_t>(shape.indexed ? index[static_cast<size_t>(s)] : s);
            const bool twin = s % 4 == 3;
            const size_t other =
                static_cast<size_t>(shape.indexed && s > 0 ? index[static_cast<size_t>(s - 1)] : s - 1);
            for (int axis = 0; axis < 3; ++axis) {
                double x = shape.offset + uniform(random) + (axis == 0 ? 0.6 * static_cast<double>(b) : 0);
                x = twin ? place[axis][other] : x;
                place[axis][point] = single ? static_cast<double>(static_cast<float>(x)) : x;
            }
        }
}
inline Case make_case(const Shape& shape, int32_t components, bool single, unsigned seed) {
    std::mt19937_64 random(seed);
    Case c;
    c.same = shape.same;
    add_boxes(c.target_offset, shape, random);
    add_points(c.target, c.target_index, c.target_offset, shape, single, random);
    if (shape.same) {
        c.source = c.target;
        c.source_offset = c.target_offset;
    } else {
        Shape other = shape;
        other.boxes += 3;
        add_boxes(c.source_offset, other, random);
        add_points(c.source, c.source_index, c.source_offset, other, single, random);
        if (!c.source[0].empty() && !c.target[0].empty()) // a target on a source
            for (int axis = 0; axis < 3; ++axis)
                c.source[axis][0] = c.target[axis][0];
    }
    c.neighbour_offset.assign(1, 0);
    const int64_t source_boxes = static_cast<int64_t>(c.source_offset.size()) - 1;
    for (int64_t b = 0; b < shape.boxes; ++b) {
        std::vector<int32_t> list{static_cast<int32_t>(b)};
        for (int64_t k = 0; k < shape.neighbours; ++k)
            list.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(source_boxes)));
        if (b % 7 == 6)
            list.clear(); // nothing near
        std::sort(list.begin(), list.end());
        list.erase(std::unique(list.begin(), list.end()), list.end());
        c.neighbour.insert(c.neighbour.end(), list.begin(), list.end());
        c.neighbour_offset.push_back(static_cast<int64_t>(c.neighbour.size()));
    }
    std::uniform_real_distribution<double> uniform(-1, 1);
    c.charge.assign(static_cast<size_t>(components), std::vector<double>(c.source[0].size()));
    for (auto& component : c.charge)
        for (double& q : component)
            q = single ? static_cast<double>(static_cast<float>(uniform(random))) : uniform(random);
    return c;
}

/// The potential of the table: smooth, and 0 with its derivative at the last knot.
inline near::RadialTable make_table(Case& c, double begin, double end, int knots) {
    const double step = (end - begin) / (knots - 1);
    for (int k = 0; k < knots; ++k) {
        const double r = begin + k * step, u = 1 - (r / end) * (r / end);
        c.knot_value.push_back(u * u * u);
        c.knot_derivative.push_back(-6 * r / (end * end) * u * u);
    }
    return {begin, step, c.knot_value, c.knot_derivative};
}

/// K(r), K'(r)/r and how large a rounding of r makes them err, in units of eps.
struct Value {
    std::complex<Wide> k, slope;
    Wide size = 0, slope_size = 0;
};
inline Value table_value(const near::RadialTable& t, Wide r) {
    const Wide x = (r - t.begin) / t.step;
    const int last = static_cast<int>(t.value.size()) - 1;
    if (x >= last)
        return {};
    const int i = std::clamp(static_cast<int>(std::floor(x)), 0, last - 1);
    const Wide u = x - i, f = t.value[i], g = t.value[i + 1], df = t.step * Wide(t.derivative[i]),
               dg = t.step * Wide(t.derivative[i + 1]);
    const Wide h00 = (1 + 2 * u) * (1 - u) * (1 - u), h10 = u * (1 - u) * (1 - u), h01 = u * u * (3 - 2 * u),
               h11 = u * u * (u - 1);
    const Wide d00 = 6 * u * u - 6 * u, d10 = 3 * u * u - 4 * u + 1, d01 = -d00, d11 = 3 * u * u - 2 * u;
    const Wide k = h00 * f + h10 * df + h01 * g + h11 * dg,
               slope = (d00 * f + d10 * df + d01 * g + d11 * dg) / t.step;
    const Wide bend = std::max(std::abs(f), std::abs(g)) + std::abs(df) + std::abs(dg);
    return {k, r > 0 ? slope / r : 0, bend, r > 0 ? bend / t.step / r : 0};
}
inline Value kernel_value(const near::KernelOptions& o, Wide r) {
    const Wide k = o.wave_number, e = o.softening;
    switch (o.kernel) {
    case near::Kernel::laplace: {
        const Wide s = std::sqrt(r * r + e * e);
        return s == 0 ? Value{} : Value{1 / s, -1 / (s * s * s), 1 / s, 1 / (s * s * s)};
    }
    case near::Kernel::logarithm:
        return r == 0 ? Value{} : Value{-std::log(r), -1 / (r * r), std::abs(std::log(r)) + 1, 1 / (r * r)};
    case near::Kernel::yukawa: {
        if (r == 0)
            return {};
        const Wide v = std::exp(-k * r) / r, s = v * (1 + k * r) / (r * r);
        return {v, -s, v * (1 + k * r), s * (1 + k * r)};
    }
    case near::Kernel::helmholtz: {
        if (r == 0)
            return {};
        const std::complex<Wide> v = std::polar(1 / r, k * r),
                                 s = v * std::complex<Wide>(1, -k * r) / (r * r);
        return {v, -s, (1 + k * r) / r, (1 + k * r) * (1 + k * r) / (r * r * r)};
    }
    default:
        return r == 0 && o.table.begin > 0 ? Value{} : table_value(o.table, r);
    }
}

/// [point of the caller][component][potential, x, y, z], and the sizes that bounds are made of.
struct Sums {
    std::vector<std::array<Wide, 4>> value, size;
    std::vector<int64_t> sources; // a target
    int32_t components = 1;
    std::array<Wide, 4>& at(int64_t i, int32_t c) { return value[static_cast<size_t>(i * components + c)]; }
    std::array<Wide, 4>& size_at(int64_t i, int32_t c) {
        return size[static_cast<size_t>(i * components + c)];
    }
};

inline void add_pair(Sums& sums, int64_t target, const Case& c, const near::Sums& asked, int64_t source,
                     const std::array<Wide, 3>& d, const Value& v) {
    const bool complex = asked.kernel.kernel == near::Kernel::helmholtz;
    for (int32_t p = 0; p < asked.components; ++p) {
        std::complex<Wide> q(c.charge[p][source]);
        Wide size = std::abs(q);
        std::complex<Wide> value = q * v.k, slope = q * v.slope;
        if (complex) {
            const int32_t real = p - p % 2;
            q = {c.charge[real][source], c.charge[real + 1][source]};
            size = std::abs(q);
            value = q * v.k, slope = q * v.slope;
        }
        const bool imaginary = complex && p % 2 == 1;
        auto& out = sums.at(target, p);
        auto& sizes = sums.size_at(target, p);
        out[0] += asked.kernel.factor * (imaginary ? value.imag() : value.real());
        sizes[0] += std::abs(asked.kernel.factor) * size * v.size;
        for (int axis = 0; axis < asked.dimension;
             ++axis) { // gradient of K(|x - y|) = K'/r (x - y), d = y - x
            out[1 + axis] -= asked.kernel.factor * d[axis] * (imaginary ? slope.imag() : slope.real());
            sizes[1 + axis] += std::abs(asked.kernel.factor * d[axis]) * size * v.slope_size;
        }
    }
}

/// The nested loop. `left_out`: a list entry that is skipped (-1: none).
inline Sums nested_loop(const Case& c, const near::Sums& asked, int64_t left_out = -1) {
    const near::Structure s = c.structure();
    Sums sums;
    sums.components = asked.components;
    sums.value.assign(c.target[0].size() * static_cast<size_t>(asked.components), {});
    sums.size = sums.value;
    sums.sources.assign(c.target[0].size(), 0);
    const auto point = [](std::span<const int64_t> index, int64_t slot) {
        return index.empty() ? slot : index[slot];
    };
    for (int64_t b = 0; b < s.target_boxes(); ++b)
        for (int64_t t = s.target_offset[b]; t < s.target_offset[b + 1]; ++t)
            for (int64_t k = s.neighbour_offset[b]; k < s.neighbour_offset[b + 1]; ++k)
                for (int64_t j = s.source_offset[s.neighbour[k]];
                     j < s.source_offset[s.neighbour[k] + 1] && k != left_out; ++j) {
                    const int64_t i = point(s.target_index, t), source = point(s.source_index, j);
                    ++sums.sources[i];
                    if (s.same && i == source)
                        continue;
                    std::array<Wide, 3> d{};
                    Wide r2 = 0;
                    for (int axis = 0; axis < asked.dimension; ++axis) {
                        d[axis] = Wide(c.source[axis][source]) - c.target[axis][i];
                        r2 += d[axis] * d[axis];
                    }
                    add_pair(sums, i, c, asked, source, d, kernel_value(asked.kernel, std::sqrt(r2)));
                }
    return sums;
}

} // namespace near_case
