// SPDX-License-Identifier: BSD-3-Clause
// Points in a grid of boxes with everything a near-field plan takes, and the sums by a plain nested loop in
// long double with the bound each target may be away: 4 sqrt(n) eps sum |q K|.
#pragma once

#include "near_integers.hpp"
#include "near/plan/near_plan.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace graft::test {

namespace near = graft::near;

/// Whether all outputs are added to.
inline void set_add(near::NearSums& sums, bool add) {
    for (particles::ArrayView& view : sums.potential)
        view.add = add;
    for (auto& axes : sums.gradient)
        for (particles::ArrayView& view : axes)
            view.add = add;
}

struct NearScene {
    using Column = std::vector<double>;
    int64_t n[2]; // targets, sources
    int dimension;
    int components;
    bool same;
    std::array<std::array<Column, 3>, 2> coordinate;
    std::vector<Column> charge, potential;
    std::vector<std::array<Column, 3>> gradient;
    std::vector<int64_t> offset[2], list_offset{0};
    std::vector<int64_t> index[2];
    std::vector<int32_t> list;
    near::StructureInput structure;
    near::NearRequest request;
    double slack = 1; // of expect_close(): arithmetic of another kind
    std::mt19937_64 random{42};

    /// sources 0: the targets are the sources.
    NearScene(int64_t targets, int64_t sources, int dimension_, int components_ = 1)
        : n{targets, sources > 0 ? sources : targets}, dimension(dimension_), components(components_),
          same(sources == 0), charge(static_cast<size_t>(components_)),
          potential(static_cast<size_t>(components_)), gradient(static_cast<size_t>(components_)) {
        for (size_t set = 0; set < 2; ++set)
            for (Column& axis : coordinate[set])
                fill(axis, n[set], 0, 1);
        if (same)
            coordinate[1] = coordinate[0];
        make_boxes();
        new_charges();
        fill_outputs(0);
        describe();
    }
    NearScene(const NearScene&) = delete;

    void new_charges() {
        for (Column& c : charge)
            fill(c, n[1], -1, 1);
    }
    void shake(double length) {
        for (size_t set = 0; set < 2; ++set)
            for (Column& axis : coordinate[set])
                for (double& value : axis)
                    value += std::uniform_real_distribution<double>(-length, length)(random);
        if (same)
            for (size_t a = 0; a < 3; ++a)
                std::copy(coordinate[0][a].begin(), coordinate[0][a].end(), coordinate[1][a].begin());
    }
    /// All coordinates; the boxes stay.
    void multiply(double factor) {
        for (auto& set : coordinate)
            for (Column& axis : set)
                for (double& value : axis)
                    value *= factor;
    }
    void fill_outputs(double value) {
        for (size_t c = 0; c < potential.size(); ++c) {
            potential[c].assign(static_cast<size_t>(n[0]), value);
            for (Column& axis : gradient[c])
                axis.assign(static_cast<size_t>(n[0]), value);
        }
    }
    int64_t outputs_equal_to(double value) const {
        return std::count(potential[0].begin(), potential[0].end(), value);
    }
    /// Takes the last `count` slots out of the boxes.
    int64_t leave_out(int64_t count) {
        for (auto& set : offset)
            for (int64_t& value : set)
                value = std::min(value, n[0] - count);
        for (auto& set : index)
            set.resize(static_cast<size_t>(n[0] - count));
        describe();
        return count;
    }
    /// Sums over other boxes.
    void use(const near::Structure& s) {
        offset[0].assign(s.target_offset.begin(), s.target_offset.end());
        offset[1].assign(s.source_offset.begin(), s.source_offset.end());
        index[0].assign(s.target_index.begin(), s.target_index.end());
        index[1].assign(s.source_index.begin(), s.source_index.end());
        list_offset.assign(s.neighbour_offset.begin(), s.neighbour_offset.end());
        list.assign(s.neighbour.begin(), s.neighbour.end());
    }

    static particles::ArrayView view(const Column& column) {
        particles::ArrayView v;
        v.data = const_cast<char*>(reinterpret_cast<const char*>(column.data()));
        v.n = static_cast<int64_t>(column.size());
        v.item_stride = v.component_stride = 8;
        return v;
    }
    near::NearSums sums() {
        near::NearSums s;
        for (size_t c = 0; c < charge.size(); ++c) {
            s.charge[c] = view(charge[c]);
            if ((request.sums.outputs & near::potential) != 0)
                s.potential[c] = view(potential[c]);
            for (size_t a = 0;
                 a < static_cast<size_t>(dimension) && (request.sums.outputs & near::gradient) != 0; ++a)
                s.gradient[c][a] = view(gradient[c][a]);
        }
        return s;
    }

    /// What the outputs hold against the plain loop, `before` added.
    void expect_close(const std::string& what, double before = 0) const {
        const double eps =
            request.sums.precision == near::Precision::fp64 ? std::ldexp(1, -53) : std::ldexp(1, -24);
        for (size_t b = 0; b + 1 < offset[0].size(); ++b)
            for (int64_t s = offset[0][b]; s < offset[0][b + 1]; ++s)
                expect_target(static_cast<size_t>(b), static_cast<size_t>(index[0][static_cast<size_t>(s)]),
                              eps, what, before);
    }

  private:
    using Complex = std::complex<long double>;

    void fill(Column& column, int64_t count, double least, double most) {
        column.resize(static_cast<size_t>(count));
        for (double& value : column)
            value = std::uniform_real_distribution<double>(least, most)(random);
    }

    /// 4 boxes along each axis, points sorted into them, neighbours at most one away.
    void make_boxes() {
        const int side = 4, boxes = dimension == 3 ? side * side * side : side * side;
        const auto box_of = [&](size_t set, size_t i) {
            int box = 0;
            for (size_t a = static_cast<size_t>(dimension); a-- > 0;)
                box = box * side + static_cast<int>(coordinate[set][a][i] * side);
            return box;
        };
        for (size_t set = 0; set < 2; ++set) {
            std::vector<std::vector<int64_t>> held(static_cast<size_t>(boxes));
            for (int64_t i = 0; i < n[set]; ++i)
                held[static_cast<size_t>(box_of(set, static_cast<size_t>(i)))].push_back(i);
            offset[set] = {0};
            for (const auto& one : held) {
                index[set].insert(index[set].end(), one.begin(), one.end());
                offset[set].push_back(static_cast<int64_t>(index[set].size()));
            }
        }
        for (int b = 0; b < boxes; ++b) {
            for (int other = 0; other < boxes; ++other) {
                bool touches = true;
                for (int a = 0, x = b, y = other; a < dimension; ++a, x /= side, y /= side)
                    touches &= std::abs(x % side - y % side) <= 1;
                if (touches)
                    list.push_back(other);
            }
            list_offset.push_back(static_cast<int64_t>(list.size()));
        }
    }

    void describe() {
        structure.target_offset = integers(offset[0], "target_offset");
        structure.neighbour_offset = integers(list_offset, "neighbour_offset");
        structure.neighbour = integers(list, "neighbour");
        structure.target_index = integers(index[0], "target_index");
        if (!same) {
            structure.source_offset = integers(offset[1], "source_offset");
            structure.source_index = integers(index[1], "source_index");
        }
        structure.targets = n[0];
        structure.sources = n[1];
        structure.same = same;
        request.structure = &structure;
        request.sums.dimension = dimension;
        request.sums.components = components;
        request.points.targets = n[0];
        request.points.sources = n[1];
        request.points.same = same;
        for (size_t a = 0; a < static_cast<size_t>(dimension); ++a) {
            request.points.target[a] = view(coordinate[0][a]);
            request.points.source[a] = same ? particles::ArrayView{} : view(coordinate[1][a]);
        }
        request.options.threads = 1;
    }

    /// K and (dK/dr) / r at distance r > 0.
    void kernel(long double r, Complex& value, Complex& slope) const {
        const near::KernelOptions& k = request.sums.kernel;
        const Complex ikr(0, k.wave_number * r);
        switch (k.kernel) {
        case near::Kernel::logarithm:
            value = -std::log(r), slope = -1 / (r * r);
            return;
        case near::Kernel::helmholtz:
            value = std::exp(ikr) / r, slope = value * (ikr - Complex(1)) / (r * r);
            return;
        default:
            value = 1 / r, slope = -1 / (r * r * r);
        }
    }

    void expect_target(size_t box, size_t i, double eps, const std::string& what, double before) const {
        const bool waves = request.sums.kernel.kernel == near::Kernel::helmholtz;
        const int step = waves ? 2 : 1;
        for (int c = 0; c < components; c += step) {
            Complex sum = 0, slope_sum[3] = {};
            long double bound = 0, slope_bound[3] = {};
            int64_t pairs = 0;
            for (int64_t l = list_offset[box]; l < list_offset[box + 1]; ++l)
                for (int64_t s = offset[1][static_cast<size_t>(list[static_cast<size_t>(l)])];
                     s < offset[1][static_cast<size_t>(list[static_cast<size_t>(l)]) + 1]; ++s, ++pairs) {
                    const size_t j = static_cast<size_t>(index[1][static_cast<size_t>(s)]);
                    long double d[3] = {}, r = 0;
                    for (size_t a = 0; a < static_cast<size_t>(dimension); ++a) {
                        d[a] = static_cast<long double>(coordinate[0][a][i]) - coordinate[1][a][j];
                        r += d[a] * d[a];
                    }
                    r = std::sqrt(r);
                    if (r == 0)
                        continue;
                    const Complex q(charge[static_cast<size_t>(c)][j],
                                    waves ? charge[static_cast<size_t>(c) + 1][j] : 0);
                    Complex value, slope;
                    kernel(r, value, slope);
                    sum += q * value;
                    // An error of the distance moves the phase, and single precision rounds coordinates.
                    const long double phase = 1 + (waves ? request.sums.kernel.wave_number * r : 0);
                    const long double blur = eps > 1e-10 ? 1 + 2 / r : 1;
                    bound += std::abs(q) * std::max<long double>(std::abs(value), 1) * phase * blur;
                    for (size_t a = 0; a < static_cast<size_t>(dimension); ++a) {
                        slope_sum[a] += q * slope * d[a];
                        slope_bound[a] += std::abs(q * slope) * r * phase * blur;
                    }
                }
            const long double factor = request.sums.kernel.factor;
            const long double tolerance =
                4 * slack * std::sqrt(static_cast<long double>(pairs) + 1) * eps * std::abs(factor) +
                eps * std::abs(before);
            const auto compare = [&](const std::vector<double>& real, const std::vector<double>* imaginary,
                                     Complex expected, long double allowed, const char* name) {
                ASSERT_NEAR(real[i], static_cast<double>(factor * expected.real() + before),
                            static_cast<double>(tolerance * allowed + 1e-300L))
                    << what << ": " << name << " of target " << i << ", component " << c;
                if (imaginary != nullptr) {
                    ASSERT_NEAR((*imaginary)[i], static_cast<double>(factor * expected.imag() + before),
                                static_cast<double>(tolerance * allowed + 1e-300L))
                        << what << ": imaginary " << name << " of target " << i;
                }
            };
            const size_t at = static_cast<size_t>(c);
            if ((request.sums.outputs & near::potential) != 0)
                compare(potential[at], waves ? &potential[at + 1] : nullptr, sum, bound, "potential");
            for (size_t a = 0;
                 a < static_cast<size_t>(dimension) && (request.sums.outputs & near::gradient) != 0; ++a)
                compare(gradient[at][a], waves ? &gradient[at + 1][a] : nullptr, slope_sum[a], slope_bound[a],
                        "gradient");
        }
    }
};

} // namespace graft::test
