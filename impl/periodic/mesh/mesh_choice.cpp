// SPDX-License-Identifier: BSD-3-Clause
// See mesh_choice.hpp.
#include "periodic/mesh/mesh_choice.hpp"

#include "periodic/mesh/fourier_plan.hpp"

#include <algorithm>
#include <cmath>

namespace graft::periodic {

namespace {

/// The error of order 4, 6, 8 at alpha times spacing = 0.1 2^(k/3), k = 4 ... 11: the formula's integral, by numbers.
constexpr int steps = 8;
constexpr double first_spacing = 0.25198420997897464;
constexpr double errors[3][steps] = {
    {7.206e-4, 1.529e-3, 3.363e-3, 7.828e-3, 1.990e-2, 5.395e-2, 1.364e-1, 2.970e-1},
    {1.004e-5, 3.874e-5, 1.643e-4, 8.106e-4, 4.719e-3, 2.438e-2, 9.035e-2, 2.423e-1},
    {2.750e-7, 1.940e-6, 1.687e-5, 1.942e-4, 2.350e-3, 1.764e-2, 7.793e-2, 2.263e-1},
};
constexpr double least_spacing = 0.1, largest_spacing = 1.2;

double log_error(int order, double log_spacing) {
    const double place = 3 * (log_spacing - std::log2(first_spacing));
    const int k = std::clamp(static_cast<int>(std::floor(place)), 0, steps - 2);
    const double(&row)[steps] = errors[order / 2 - 2];
    const double a = std::log2(row[k]), b = std::log2(row[k + 1]);
    return a + (place - k) * (b - a);
}

} // namespace

MeshChoice choose_mesh(const geometry::Lattice& lattice, double alpha, int order, double error) {
    constexpr double least_count = 8, most_points = 1 << 30;
    double low = std::log2(least_spacing), high = std::log2(largest_spacing);
    const double wanted = std::log2(error);
    if (!(log_error(order, low) <= wanted))
        return {};
    for (int step = 0; step < 30; ++step) {
        const double middle = 0.5 * (low + high);
        (log_error(order, middle) <= wanted ? low : high) = middle;
    }
    const double spacing = std::exp2(low) / alpha;
    MeshChoice mesh{order, {}};
    double points = 1;
    for (int a = 0; a < 3; ++a) {
        const geometry::Vec3 edge = lattice.shift(a == 0, a == 1, a == 2);
        const double least = std::sqrt(edge.x * edge.x + edge.y * edge.y + edge.z * edge.z) / spacing;
        points *= std::max(least, 1.0);
        if (!(points <= most_points))
            return {};
        mesh.count[a] = fourier_length(std::max(least, least_count));
    }
    return mesh.points() <= static_cast<int64_t>(most_points) ? mesh : MeshChoice{};
}

} // namespace graft::periodic
