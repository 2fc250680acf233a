// SPDX-License-Identifier: BSD-3-Clause
// Eddington inversion on a logarithmic grid. d rho/d psi is analytic at the nodes and linear between them, so
// the Abel integral is a sum of exact pieces and needs no special care at its singular end.
#include "ic/spherical_equilibrium.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace graft::cli {

namespace {

constexpr double pi = std::numbers::pi;

// Index k with grid[k] <= value < grid[k+1], held inside the table.
std::size_t interval(const std::vector<double>& grid, double value) {
    const auto above = std::upper_bound(grid.begin() + 1, grid.end() - 1, value);
    return static_cast<std::size_t>(above - grid.begin()) - 1;
}

// Linear in the logarithms of both; values must be positive.
double log_interpolate(const std::vector<double>& x, const std::vector<double>& y, double at) {
    const std::size_t k = interval(x, at);
    const double part = std::log(at / x[k]) / std::log(x[k + 1] / x[k]);
    return y[k] * std::pow(y[k + 1] / y[k], part);
}

// Softened potential (negative sign left out) and its pull of a unit shell of radius s at distance r.
void shell(double r, double s, double softening, double& depth, double& pull) {
    const double far = std::hypot(r + s, softening);
    const double near = std::hypot(r - s, softening);
    // far - near without cancellation: (far^2 - near^2)/(far + near)
    const double difference = 4.0 * r * s / (far + near);
    depth = difference / (2.0 * r * s);
    const double slope = near > 0.0 ? (r + s) / far - (r - s) / near : (r + s) / far;
    pull = difference / (2.0 * r * r * s) - slope / (2.0 * r * s);
}

} // namespace

std::vector<double> logarithmic_radii(double inner, double outer, std::size_t count) {
    std::vector<double> radii(count);
    for (std::size_t k = 0; k < count; ++k) {
        radii[k] = inner * std::pow(outer / inner, static_cast<double>(k) / static_cast<double>(count - 1));
    }
    return radii;
}

CutHernquist::CutHernquist(double mass, double scale, double cut, const std::vector<double>& radii)
    : mass_(mass), scale_(scale), cut_(cut), radii_(radii), enclosed_(radii.size()) {
    const auto shell_density = [this](double r) { return 4.0 * pi * r * r * r * density(r); }; // dM / d ln r
    enclosed_[0] = 0.5 * shell_density(radii[0]); // rho ~ 1/r inside
    for (std::size_t k = 1; k < radii.size(); ++k) {
        const double middle = std::sqrt(radii[k - 1] * radii[k]);
        const double simpson =
            shell_density(radii[k - 1]) + 4.0 * shell_density(middle) + shell_density(radii[k]);
        enclosed_[k] = enclosed_[k - 1] + simpson * std::log(radii[k] / radii[k - 1]) / 6.0;
    }
    normalisation_ = mass / enclosed_.back();
    for (double& value : enclosed_) {
        value *= normalisation_;
    }
}

double CutHernquist::density(double r) const {
    const double reach = r / cut_;
    return normalisation_ * std::exp(-reach * reach) / (r * std::pow(r + scale_, 3.0));
}

double CutHernquist::density_slope(double r) const {
    return -density(r) * (1.0 / r + 3.0 / (r + scale_) + 2.0 * r / (cut_ * cut_));
}

double CutHernquist::radius_of_fraction(double fraction) const {
    const double target = fraction * mass_;
    if (target <= enclosed_[0]) {
        return radii_[0] * std::sqrt(target / enclosed_[0]); // M ~ r^2 inside the grid
    }
    return log_interpolate(enclosed_, radii_, target);
}

SphericalPotential::SphericalPotential(const std::vector<double>& radii, const std::vector<double>& enclosed,
                                       double softening)
    : radii_(radii), depth_(radii.size()), pull_(radii.size()) {
    for (std::size_t i = 0; i < radii.size(); ++i) {
        for (std::size_t k = 0; k < radii.size(); ++k) {
            const double shell_radius = k == 0 ? 0.5 * radii[0] : std::sqrt(radii[k - 1] * radii[k]);
            const double shell_mass = k == 0 ? enclosed[0] : enclosed[k] - enclosed[k - 1];
            double depth = 0.0;
            double pull = 0.0;
            shell(radii[i], shell_radius, softening, depth, pull);
            depth_[i] += shell_mass * depth;
            pull_[i] += shell_mass * pull;
        }
    }
}

double SphericalPotential::depth(double r) const {
    if (r <= radii_.front()) {
        return depth_.front();
    }
    return log_interpolate(radii_, depth_, r); // also beyond the end, where it falls as 1/r
}

double SphericalPotential::pull(double r) const {
    if (r <= radii_.front()) {
        return pull_.front() * r / radii_.front();
    }
    return log_interpolate(radii_, pull_, r);
}

EddingtonModel::EddingtonModel(const CutHernquist& component, const SphericalPotential& potential)
    : potential_(potential) {
    const std::vector<double>& radii = potential.radii();
    const std::size_t n = radii.size();
    energy_.resize(n);
    f_.resize(n);
    std::vector<double> slope(n); // d rho / d psi, ascending in psi
    for (std::size_t j = 0; j < n; ++j) {
        const std::size_t k = n - 1 - j;
        energy_[j] = potential.depth_at(k);
        slope[j] = -component.density_slope(radii[k]) / potential.pull_at(k);
    }
    double negative = 0.0;
    double total = 0.0;
    for (std::size_t j = 1; j < n; ++j) {
        double integral = 0.0;
        for (std::size_t i = 1; i <= j; ++i) {
            const double second = (slope[i] - slope[i - 1]) / (energy_[i] - energy_[i - 1]);
            integral +=
                2.0 * second *
                (std::sqrt(energy_[j] - energy_[i - 1]) - std::sqrt(std::max(0.0, energy_[j] - energy_[i])));
        }
        const double value = integral / (std::sqrt(8.0) * pi * pi);
        negative += std::max(0.0, -value);
        total += std::abs(value);
        f_[j] = std::max(0.0, value);
    }
    negative_share_ = total > 0.0 ? negative / total : 0.0;
}

double EddingtonModel::distribution(double energy) const {
    if (energy <= energy_.front()) {
        return 0.0;
    }
    const std::size_t k = interval(energy_, energy);
    const double part = std::min(1.0, (energy - energy_[k]) / (energy_[k + 1] - energy_[k]));
    if (f_[k] > 0.0 && f_[k + 1] > 0.0) {
        return f_[k] * std::pow(f_[k + 1] / f_[k], part);
    }
    return f_[k] + part * (f_[k + 1] - f_[k]);
}

double EddingtonModel::speed_of_fraction(double r, double fraction) const {
    constexpr std::size_t steps = 96;
    const double depth = potential_.depth(r);
    std::array<double, steps + 1> cumulative{};
    double last = 0.0;
    for (std::size_t k = 1; k <= steps; ++k) {
        const double u = static_cast<double>(k) / steps;
        const double here = u * u * distribution(depth * (1.0 - u * u));
        cumulative[k] = cumulative[k - 1] + 0.5 * (last + here);
        last = here;
    }
    const double target = fraction * cumulative[steps];
    const auto above = std::upper_bound(cumulative.begin() + 1, cumulative.end() - 1, target);
    const double width = *above - *(above - 1);
    const double part = width > 0.0 ? (target - *(above - 1)) / width : 0.5;
    return std::sqrt(2.0 * depth) * (static_cast<double>(above - cumulative.begin() - 1) + part) / steps;
}

} // namespace graft::cli
