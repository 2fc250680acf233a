// SPDX-License-Identifier: BSD-3-Clause
// See wire_images.hpp.
#include "periodic/wire_images.hpp"

#include <algorithm>
#include <cmath>

namespace graft::periodic {

namespace {

constexpr double pi = 3.14159265358979323846;
constexpr double gauss_4 = 3.1512120021538975382; // G_4 = Gamma(1/4)^8 / (960 pi^2)
constexpr double quarter = 3.6256099082219083119; // Gamma(1/4)

/// G_4, G_8, ... by the recurrence of Weierstrass's function with g3 = 0.
std::vector<double> lattice_sums(int most) {
    const int half = most / 2; // c[k] = (2k - 1) G_2k
    std::vector<double> c(static_cast<size_t>(half) + 1, 0.0), sums;
    for (int k = 2; k <= half; ++k) {
        if (k == 2)
            c[2] = 3 * gauss_4;
        for (int m = 2; k > 3 && m <= k - 2; ++m)
            c[static_cast<size_t>(k)] +=
                3.0 / ((2 * k + 1) * (k - 3)) * c[static_cast<size_t>(m)] * c[static_cast<size_t>(k - m)];
        if (k % 2 == 0)
            sums.push_back(c[static_cast<size_t>(k)] / (2 * k - 1));
    }
    return sums;
}

/// The last n of the series, a multiple of 4.
int last_term(double reach, double accuracy) {
    const double r = std::clamp(reach, 1e-3, WireImages::most_reach);
    const double n = std::log(0.01 * std::max(accuracy, 1e-14)) / std::log(r);
    return 4 * std::max(1, static_cast<int>(std::ceil(n / 4)));
}

} // namespace

void WireImages::prepare(comm::Communicator& comm, const particles::Problem& problem, int axis, double period,
                         double edge, const double (&middle)[3], double reach, double accuracy) {
    axis_ = axis;
    period_ = period;
    edge_ = edge;
    std::copy_n(middle, 3, middle_);
    const int most = last_term(reach, accuracy);
    const auto size = static_cast<size_t>(most) + 1;
    std::vector<double> sums;
    comm.together([&] {
        sums.assign(2 * size + 1, 0.0);
        moments_.resize(size);
        terms_.resize(size);
        const core::Buffer<double>* const axes[3] = {&problem.x, &problem.y, &problem.z};
        const int a = across(axis, 0), b = across(axis, 1);
        for (int64_t i = 0; i < problem.n; ++i) {
            const Complex u(((*axes[a])[i] - middle[a]) / edge, ((*axes[b])[i] - middle[b]) / edge);
            Complex power = problem.charge[i];
            sums[2 * size] += problem.charge[i] * std::norm(u);
            for (size_t m = 0; m < size; ++m, power *= u) {
                sums[2 * m] += power.real();
                sums[2 * m + 1] += power.imag();
            }
        }
    });
    comm.allreduce(sums.data(), static_cast<int64_t>(sums.size()), comm::Operation::sum);
    spread_ = sums[2 * size];
    for (size_t m = 0; m < size; ++m)
        moments_[m] = {sums[2 * m], sums[2 * m + 1]};
    std::fill(terms_.begin(), terms_.end(), Complex(0));
    const std::vector<double> lattice = lattice_sums(most);
    for (int n = 4; n <= most; n += 4) { // (u - v)^n G_n / n, by powers of u
        double binomial = lattice[static_cast<size_t>(n / 4 - 1)] / n;
        for (int p = n; p >= 0; --p) {
            const double sign = (n - p) % 2 == 0 ? 1 : -1;
            terms_[static_cast<size_t>(p)] += sign * binomial * moments_[static_cast<size_t>(n - p)];
            binomial *= static_cast<double>(p) / (n - p + 1);
        }
    }
}

/// Of a charge on another or itself, over the period.
double WireImages::constant() const {
    return 2 * std::log(period_ / edge_) + 2 * std::log(quarter * quarter / (2 * std::sqrt(pi)));
}

void WireImages::take_off(const particles::Problem& problem, bool with_potential, const int32_t* origin,
                          particles::RawField& field) const {
    const core::Buffer<double>* const from[3] = {problem.points ? &problem.point_x : &problem.x,
                                                 problem.points ? &problem.point_y : &problem.y,
                                                 problem.points ? &problem.point_z : &problem.z};
    core::Buffer<double>* const to[3] = {&field.ax, &field.ay, &field.az};
    const int a = across(axis_, 0), b = across(axis_, 1);
    const double charge = moments_[0].real(), by_edge = 1 / (edge_ * period_);
    const int64_t count = problem.target_count();
    for (int64_t k = 0; k < count; ++k) {
        const int64_t i = origin != nullptr ? origin[k] : k;
        const Complex u(((*from[a])[i] - middle_[a]) / edge_, ((*from[b])[i] - middle_[b]) / edge_);
        Complex value = 0, slope = 0;
        for (size_t p = terms_.size(); p-- > 0;) {
            slope = slope * u + value;
            value = value * u + terms_[p];
        }
        const Complex flat = charge * u - moments_[1]; // half the gradient of sum q |u - v|^2
        (*to[a])[k] -= by_edge * 2 * (pi * flat.real() + slope.real());
        (*to[b])[k] -= by_edge * 2 * (pi * flat.imag() - slope.imag());
        if (with_potential)
            field.potential[k] +=
                (charge * constant() -
                 pi * (charge * std::norm(u) - 2 * (u * std::conj(moments_[1])).real() + spread_) -
                 2 * value.real()) /
                period_;
    }
}

double WireImages::energy() const {
    const double charge = moments_[0].real();
    double sum = 0.5 * charge * charge * constant() - pi * (charge * spread_ - std::norm(moments_[1]));
    for (size_t p = 0; p < terms_.size(); ++p)
        sum -= (terms_[p] * moments_[p]).real();
    return sum / period_;
}

double WireImages::strain_along() const {
    const double charge = moments_[0].real();
    return charge * charge / period_ - energy();
}

} // namespace graft::periodic
