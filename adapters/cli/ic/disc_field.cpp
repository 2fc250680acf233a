// SPDX-License-Identifier: BSD-3-Clause
// The disc's force as an integral over wave numbers of J_0 and J_1, each with the vertical structure folded
// in.
#include "ic/disc_field.hpp"

#include <algorithm>
#include <cmath>
#include <math.h> // j0, j1: POSIX
#include <numbers>

namespace graft::cli {

namespace {

constexpr std::size_t radius_count = 96;
constexpr std::size_t height_count = 32;
constexpr std::size_t layer_count = 64;

// Mass-quantile of sech^2: layers of equal mass.
double layer_height(double fraction, double height) {
    return height * std::atanh(2.0 * fraction - 1.0);
}

} // namespace

double DiscShape::surface_density(double radius) const {
    return mass / (2.0 * std::numbers::pi * scale * scale) * std::exp(-radius / scale);
}

double DiscShape::radius_of_fraction(double fraction) const {
    double low = 0.0;
    double high = 60.0; // in scale lengths; 1 - fraction below 1e-24 there
    for (int k = 0; k < 60; ++k) {
        const double middle = 0.5 * (low + high);
        const double inside = -std::expm1(-middle) - middle * std::exp(-middle);
        (inside < fraction ? low : high) = middle;
    }
    return 0.5 * (low + high) * scale;
}

DiscField::DiscField(const DiscShape& shape, double softening, double outer)
    : radial_(radius_count * height_count), vertical_(radius_count * height_count) {
    for (std::size_t i = 0; i < radius_count; ++i) {
        radii_.push_back(outer * std::pow(static_cast<double>(i) / (radius_count - 1), 1.5));
    }
    for (std::size_t j = 0; j < height_count; ++j) {
        heights_.push_back(shape.height * std::atanh(static_cast<double>(j) / height_count));
    }
    // J_1(k outer) needs several points a wave; beyond k = 60/R_d the integrand has fallen below 1e-5 of its
    // peak.
    const double step = std::min(0.02 / shape.scale, 0.3 / outer);
    double k = 0.5 * step; // midpoint rule
    while (k < 60.0 / shape.scale) {
        add_wave(k, step, shape, softening);
        k += step;
    }
}

void DiscField::add_wave(double k, double weight, const DiscShape& shape, double softening) {
    const double kd = k * shape.scale;
    const double amplitude = weight * shape.mass * k / std::pow(1.0 + kd * kd, 1.5);
    double level[height_count];
    double slope[height_count];
    for (std::size_t j = 0; j < height_count; ++j) {
        level[j] = slope[j] = 0.0;
        for (std::size_t layer = 0; layer < layer_count; ++layer) {
            const double dz =
                heights_[j] - layer_height((static_cast<double>(layer) + 0.5) / layer_count, shape.height);
            const double distance = std::hypot(dz, softening);
            const double wave = std::exp(-k * distance) / layer_count;
            level[j] += wave;
            slope[j] += distance > 0.0 ? wave * dz / distance : 0.0;
        }
    }
    for (std::size_t i = 0; i < radius_count; ++i) {
        const double j0_value = amplitude * ::j0(k * radii_[i]);
        const double j1_value = amplitude * ::j1(k * radii_[i]);
        for (std::size_t j = 0; j < height_count; ++j) {
            radial_[i * height_count + j] += j1_value * level[j];
            vertical_[i * height_count + j] += j0_value * slope[j];
        }
    }
}

double DiscField::interpolate(const std::vector<double>& table, double radius, double height) const {
    const auto place = [](const std::vector<double>& grid, double value, std::size_t& k) {
        const auto above = std::upper_bound(grid.begin() + 1, grid.end() - 1, value);
        k = static_cast<std::size_t>(above - grid.begin()) - 1;
        return std::clamp((value - grid[k]) / (grid[k + 1] - grid[k]), 0.0, 1.0);
    };
    std::size_t i = 0;
    std::size_t j = 0;
    const double a = place(radii_, radius, i);
    const double b = place(heights_, std::abs(height), j);
    const double* at = table.data() + i * height_count + j;
    return (1.0 - a) * ((1.0 - b) * at[0] + b * at[1]) +
           a * ((1.0 - b) * at[height_count] + b * at[height_count + 1]);
}

} // namespace graft::cli
