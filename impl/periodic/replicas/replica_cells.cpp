// SPDX-License-Identifier: BSD-3-Clause
// See replica_cells.hpp.
#include "periodic/replicas/replica_cells.hpp"

#include "periodic/replicas/solid_harmonics.hpp"

#include <algorithm>
#include <cstdint>

namespace graft::periodic {

namespace {

using Complex = std::complex<double>;

constexpr int64_t chunks = 16; // of particles: one sum each, whatever the number of threads
constexpr int64_t cells_at_once = 32;
constexpr int most_terms = 91; // of order 12

/// Where (l, m) of either sign stands.
constexpr size_t both_signs_at(int l, int m) {
    const int at = l * l + l + m;
    return static_cast<size_t>(at);
}

std::vector<Complex> with_both_signs(const Complex* values, int order) {
    std::vector<Complex> all(both_signs_at(order, order) + 1);
    for (int l = 0; l <= order; ++l)
        for (int m = -l; m <= l; ++m)
            all[both_signs_at(l, m)] = any_harmonic(values, l, m);
    return all;
}

std::vector<Complex> harmonics_of(const geometry::Vec3& at, int order) {
    std::vector<Complex> one(static_cast<size_t>(harmonic_at(order, order)) + 1);
    solid_harmonics(at.x, at.y, at.z, order, one.data());
    return with_both_signs(one.data(), order);
}

Complex product(const Complex& a, const Complex& b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

} // namespace

void ReplicaCells::set(const geometry::Lattice& lattice, const geometry::Vec3& centre, double unit, int order) {
    lattice_ = lattice;
    centre_ = centre;
    unit_ = unit;
    order_ = order;
    terms_ = harmonic_at(order, order) + 1;
    centres_.resize(count);
    for (int cell = 0; cell < count; ++cell) {
        const auto middle = [](int k) { return (k % per_edge + 0.5) / per_edge; };
        const geometry::Vec3 at = lattice.shift(middle(cell / (per_edge * per_edge)), middle(cell / per_edge), middle(cell));
        for (int a = 0; a < 3; ++a)
            centres_[static_cast<size_t>(cell)][a] = (lattice.lower[a] + at[a] - centre[a]) / unit;
    }
}

int ReplicaCells::cell_at(double x, double y, double z) const {
    const geometry::Vec3 f = lattice_.fractions(x, y, z);
    int cell = 0;
    for (int a = 0; a < 3; ++a)
        cell = cell * per_edge + static_cast<int>(std::clamp(f[a] * per_edge, 0.0, per_edge - 0.5));
    return cell;
}

geometry::Vec3 ReplicaCells::place_in(int cell, double x, double y, double z) const {
    const geometry::Vec3& c = centres_[static_cast<size_t>(cell)];
    return {(x - centre_.x) / unit_ - c.x, (y - centre_.y) / unit_ - c.y, (z - centre_.z) / unit_ - c.z};
}

void ReplicaCells::sum(const backend::Executor& executor, const particles::Problem& problem, int most,
                       Complex* moments) const {
    // Of each cell, from each chunk of particles.
    const auto of_cell = static_cast<size_t>(terms_), of_chunk = count * of_cell;
    const int64_t chunk = std::max<int64_t>(1, (problem.n + chunks - 1) / chunks);
    std::vector<Complex> sums(chunks * of_chunk);
    executor.for_blocks(problem.n, chunk, [&](int64_t begin, int64_t end, int) {
        Complex r[most_terms];
        for (int64_t i = begin; i < end; ++i) {
            const int cell = cell_at(problem.x[i], problem.y[i], problem.z[i]);
            const geometry::Vec3 at = place_in(cell, problem.x[i], problem.y[i], problem.z[i]);
            const double q = problem.charge[i];
            solid_harmonics(-at.x, -at.y, -at.z, order_, r);
            Complex* const to = sums.data() + static_cast<size_t>(begin / chunk) * of_chunk + static_cast<size_t>(cell) * of_cell;
            for (int k = 0; k < terms_; ++k)
                to[k] += q * r[k];
        }
    });
    // Of the box, from some cells at a time.
    const auto of_box = static_cast<size_t>(harmonic_at(most, most)) + 1;
    std::vector<Complex> parts(count / cells_at_once * of_box);
    executor.for_blocks(count, cells_at_once, [&](int64_t begin, int64_t end, int) {
        Complex* const to = parts.data() + static_cast<size_t>(begin / cells_at_once) * of_box;
        for (int64_t cell = begin; cell < end; ++cell) {
            std::vector<Complex> own(of_cell);
            for (int64_t c = 0; c < chunks; ++c)
                for (size_t k = 0; k < of_cell; ++k)
                    own[k] += sums[static_cast<size_t>(c) * of_chunk + static_cast<size_t>(cell) * of_cell + k];
            if (std::all_of(own.begin(), own.end(), [](const Complex& value) { return value == 0.0; }))
                continue;
            const geometry::Vec3& c = centres_[static_cast<size_t>(cell)];
            const std::vector<Complex> from = with_both_signs(own.data(), order_),
                                       moved = harmonics_of({-c.x, -c.y, -c.z}, most);
            for (int l = 0; l <= most; ++l)
                for (int m = 0; m <= l; ++m) {
                    Complex total = 0;
                    for (int p = 0; p <= std::min(l, order_); ++p)
                        for (int k = std::max(-p, m - (l - p)); k <= std::min(p, m + (l - p)); ++k)
                            total += product(from[both_signs_at(p, k)], moved[both_signs_at(l - p, m - k)]);
                    to[harmonic_at(l, m)] += total;
                }
        }
    });
    std::fill_n(moments, of_box, Complex(0));
    for (size_t k = 0; k < parts.size(); ++k)
        moments[k % of_box] += parts[k];
}

void ReplicaCells::hand_down(const backend::Executor& executor, const Complex* polynomial, int most) {
    const std::vector<Complex> from = with_both_signs(polynomial, most);
    polynomials_.resize(static_cast<size_t>(count) * static_cast<size_t>(terms_));
    executor.for_blocks(count, cells_at_once, [&](int64_t begin, int64_t end, int) {
        for (int64_t cell = begin; cell < end; ++cell) {
            const std::vector<Complex> moved = harmonics_of(centres_[static_cast<size_t>(cell)], most);
            Complex* const to = polynomials_.data() + static_cast<size_t>(cell) * static_cast<size_t>(terms_);
            for (int p = 0; p <= std::min(order_, most); ++p)
                for (int k = 0; k <= p; ++k) {
                    Complex total = 0;
                    for (int l = p; l <= most; ++l)
                        for (int m = std::max(-l, k - (l - p)); m <= std::min(l, k + (l - p)); ++m)
                            total += product(from[both_signs_at(l, m)], moved[both_signs_at(l - p, m - k)]);
                    to[harmonic_at(p, k)] = total;
                }
        }
    });
}

const Complex* ReplicaCells::polynomial_at(double x, double y, double z, geometry::Vec3& place) const {
    const int cell = cell_at(x, y, z);
    place = place_in(cell, x, y, z);
    return polynomials_.data() + static_cast<size_t>(cell) * static_cast<size_t>(terms_);
}

} // namespace graft::periodic
