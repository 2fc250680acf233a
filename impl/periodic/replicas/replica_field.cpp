// SPDX-License-Identifier: BSD-3-Clause
// See replica_field.hpp. Moments, the polynomial and its field.
#include "periodic/replicas/replica_field.hpp"

#include "periodic/replicas/solid_harmonics.hpp"

#include <algorithm>
#include <cmath>

namespace graft::periodic {

namespace {

constexpr int64_t block = 4096;
constexpr int64_t sampled = 128; // targets of a rank

/// Of a particle, or a point.
geometry::Vec3 position(const particles::Problem& problem, int64_t i) {
    const bool points = problem.points;
    return {(points ? problem.point_x : problem.x)[i], (points ? problem.point_y : problem.y)[i],
            (points ? problem.point_z : problem.z)[i]};
}

} // namespace

geometry::Vec3 DistantImages::in_units(const geometry::Vec3& at) const {
    return {(at.x - centre_.x) / unit_, (at.y - centre_.y) / unit_, (at.z - centre_.z) / unit_};
}

void DistantImages::begin(int64_t all_particles, double accuracy) {
    known_order_ = -1;
    in_cells_ = all_particles >= ReplicaCells::least_particles;
    cell_order_ = ReplicaCells::order_for(accuracy);
}

void DistantImages::sum(comm::Communicator& comm, const backend::Executor& executor,
                        const particles::Problem& problem) {
    if (known_order_ < order_)
        measure(comm, executor, problem);
    translate(now().value.data(), 0, order_, polynomial_.data());
}

void DistantImages::measure(comm::Communicator& comm, const backend::Executor& executor,
                            const particles::Problem& problem) {
    constexpr int64_t width = 2 * terms + 5; // moments; q, q x, q y, q z, q r^2
    const int order = in_cells_ ? most_order : order_, used = in_cells_ ? 0 : harmonic_at(order, order) + 1;
    std::vector<double> sums;
    comm.together([&] {
        const int64_t blocks = std::max<int64_t>(1, (problem.n + block - 1) / block);
        sums.assign(static_cast<size_t>(blocks * width), 0.0);
        executor.for_blocks(problem.n, block, [&](int64_t begin, int64_t end, int) {
            double* const s = sums.data() + begin / block * width;
            Complex r[terms];
            for (int64_t i = begin; i < end; ++i) {
                const double q = problem.charge[i];
                const geometry::Vec3 p = in_units({problem.x[i], problem.y[i], problem.z[i]});
                if (used > 0)
                    solid_harmonics(-p.x, -p.y, -p.z, order, r);
                for (int k = 0; k < used; ++k) {
                    s[2 * k] += q * r[k].real();
                    s[2 * k + 1] += q * r[k].imag();
                }
                double* const t = s + 2 * terms;
                t[0] += q;
                t[1] += q * p.x;
                t[2] += q * p.y;
                t[3] += q * p.z;
                t[4] += q * (p.x * p.x + p.y * p.y + p.z * p.z);
            }
        });
        for (int64_t b = 1; b < blocks; ++b)
            for (int64_t k = 0; k < width; ++k)
                sums[static_cast<size_t>(k)] += sums[static_cast<size_t>(b * width + k)];
        moments_.assign(terms, Complex(0));
        polynomial_.resize(terms);
        if (!in_cells_)
            return;
        cells_.set(*lattice_, centre_, unit_, cell_order_);
        cells_.sum(executor, problem, order, moments_.data());
        for (size_t k = 0; k < terms; ++k) {
            sums[2 * k] = moments_[k].real();
            sums[2 * k + 1] = moments_[k].imag();
        }
    });
    comm.allreduce(sums.data(), width, comm::Operation::sum);
    for (size_t k = 0; k < terms; ++k)
        moments_[k] = {sums[2 * k], sums[2 * k + 1]};
    charge_ = sums[2 * terms];
    std::copy_n(sums.data() + 2 * terms + 1, 4, square_);
    known_order_ = order;
}

/// B_l'm' = sum over even l in [least, most] and m of a_lm M_(l-l')(m-m').
void DistantImages::translate(const Complex* coefficients, int least, int most, Complex* polynomial) const {
    std::fill_n(polynomial, terms, Complex(0));
    for (int l = least; l <= most; l += 2)
        for (int m = -l; m <= l; ++m) {
            const Complex a = any_harmonic(coefficients, l, m);
            for (int to = 0; to <= l; ++to)
                for (int k = std::max(0, m - (l - to)); k <= std::min(to, m + (l - to)); ++k)
                    polynomial[harmonic_at(to, k)] += a * any_harmonic(moments_.data(), l - to, m - k);
        }
}

/// Real parts of products are taken with m and -m together.
DistantImages::Field DistantImages::at_point(const Complex* polynomial, int order, const geometry::Vec3& at) {
    Complex r[terms];
    solid_harmonics(at.x, at.y, at.z, order, r);
    Field field;
    const auto real = [](Complex a, Complex b) { return a.real() * b.real() - a.imag() * b.imag(); };
    const auto imaginary = [](Complex a, Complex b) { return a.real() * b.imag() + a.imag() * b.real(); };
    for (int l = 0; l <= order; ++l)
        for (int m = 0; m <= l; ++m) {
            const double twice = m == 0 ? 1 : 2;
            const Complex one = r[harmonic_at(l, m)];
            field.potential += twice * real(polynomial[harmonic_at(l, m)], one);
            if (l == order)
                continue;
            const Complex* const above = polynomial + harmonic_at(l + 1, m);
            field.z += twice * real(above[0], one);
            field.x -= real(above[1], one);
            field.y += imaginary(above[1], one);
            if (m > 0) {
                field.x += real(above[-1], one);
                field.y += imaginary(above[-1], one);
            }
        }
    return field;
}

/// In units of unit_.
void DistantImages::add_background(const geometry::Vec3& p, Field& f) const {
    const double half = background_;
    f.x += 2 * half * (charge_ * p.x - square_[0]);
    f.y += 2 * half * (charge_ * p.y - square_[1]);
    f.z += 2 * half * (charge_ * p.z - square_[2]);
    f.potential += half * (charge_ * (p.x * p.x + p.y * p.y + p.z * p.z) -
                           2 * (p.x * square_[0] + p.y * square_[1] + p.z * square_[2]) + square_[3]);
}

geometry::Vec3 DistantImages::field_at(const geometry::Vec3& at) const {
    const geometry::Vec3 p = in_units(at);
    Field f = at_point(polynomial_.data(), order_, p);
    add_background(p, f);
    const double square = 1 / (unit_ * unit_);
    return {f.x * square, f.y * square, f.z * square};
}

void DistantImages::add(const backend::Executor& executor, const particles::Problem& problem,
                        bool with_potential, const int32_t* origin, particles::RawField& field) {
    const double square = 1 / (unit_ * unit_);
    if (in_cells_)
        cells_.hand_down(executor, polynomial_.data(), order_);
    executor.for_each(problem.target_count(), [&](int64_t k) {
        const geometry::Vec3 at = position(problem, origin != nullptr ? origin[k] : k), p = in_units(at);
        Field f;
        if (in_cells_) {
            geometry::Vec3 in_cell;
            const Complex* const polynomial = cells_.polynomial_at(at.x, at.y, at.z, in_cell);
            f = at_point(polynomial, cells_.order(), in_cell);
        } else {
            f = at_point(polynomial_.data(), order_, p);
        }
        add_background(p, f);
        field.ax[k] += f.x * square;
        field.ay[k] += f.y * square;
        field.az[k] += f.z * square;
        if (with_potential)
            field.potential[k] += f.potential / unit_;
    });
}

double DistantImages::error(comm::Communicator& comm, const particles::Problem& problem,
                            double square_sum) const {
    const int64_t count = problem.target_count(), step = std::max<int64_t>(1, count / sampled);
    double sums[3] = {};
    Complex last[2][terms];
    for (int which = 0; which < 2; ++which)
        translate(now().value.data(), order_ - 2 + 2 * which, order_ - 2 + 2 * which, last[which]);
    for (int64_t k = 0; k < count; k += step, ++sums[2]) {
        const bool listed = !problem.points && !problem.all_targets;
        const geometry::Vec3 p = in_units(position(problem, listed ? problem.target[k] : k));
        for (int which = 0; which < 2; ++which) {
            const Field f = at_point(last[which], order_, p);
            sums[which] += f.x * f.x + f.y * f.y + f.z * f.z;
        }
    }
    comm.allreduce(sums, 3, comm::Operation::sum);
    const double ratio = ratio_of(order_);
    const double here = sums[2] > 0 ? std::sqrt(std::max(sums[0] * ratio * ratio, sums[1]) / sums[2]) : 0;
    return std::max(here * ratio / (1 - ratio) / (unit_ * unit_), random_error(order_, square_sum));
}

/// Of what follows an order, each is smaller than the one before by about the same factor, which random
/// places know.
double DistantImages::ratio_of(int order) const {
    const auto k = static_cast<size_t>(order);
    return std::min(0.9, now().random[k] / now().random[k - 2]);
}

double DistantImages::random_error(int order, double square_sum) const {
    const double ratio = ratio_of(order);
    return std::sqrt(square_sum) * now().random[static_cast<size_t>(order)] * ratio / (1 - ratio) /
           (unit_ * unit_);
}

void DistantImages::lattice_strain(double (&virial)[6]) const {
    Complex moved[terms];
    for (int c = 0; c < 6; ++c) {
        translate(now().value.data() + (c + 1) * terms, 0, order_, moved);
        double sum = 0;
        for (int l = 0; l <= order_; ++l) // moments are of -y: those of y have the sign of l
            for (int m = 0; m <= l; ++m)
                sum += (m == 0 ? 1 : 2) * (l % 2 == 0 ? 1 : -1) *
                       (moved[harmonic_at(l, m)] * moments_[static_cast<size_t>(harmonic_at(l, m))]).real();
        virial[c] = 0.5 * sum / unit_;
    }
    const double squares = square_[0] * square_[0] + square_[1] * square_[1] + square_[2] * square_[2];
    for (int c = 0; c < 3; ++c) // of the background, whose energy falls as the volume grows
        virial[c] -= background_ * (charge_ * square_[3] - squares) / unit_;
}

} // namespace graft::periodic
