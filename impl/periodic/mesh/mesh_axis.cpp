// SPDX-License-Identifier: BSD-3-Clause
// See mesh_axis.hpp.
#include "periodic/mesh/mesh_axis.hpp"

#include <cmath>

namespace graft::periodic {

namespace {

constexpr int aliases = 3; // n from -3 to 3: the transforms fall as n^-4 at least

double spline_transform(int order, double f, double count) {
    const double x = 3.14159265358979323846 * f / count;
    return std::pow(f == 0 ? 1 : std::sin(x) / x, order);
}

} // namespace

std::vector<MeshAxisSums> mesh_axis_sums(int order, int64_t count) {
    std::vector<MeshAxisSums> axis(static_cast<size_t>(count), MeshAxisSums{});
    const auto points = static_cast<double>(count);
    for (int64_t k = 0; k < count; ++k) {
        MeshAxisSums& sums = axis[static_cast<size_t>(k)];
        double transform[2 * aliases + 1];
        for (int n = -aliases; n <= aliases; ++n) {
            const double f = mesh_frequency(k, count) + n * points, u = spline_transform(order, f, points);
            transform[n + aliases] = u;
            sums.square += u * u;
            sums.first += f * u * u;
            sums.second += f * f * u * u;
        }
        sums.alone = transform[aliases] * transform[aliases];
        for (int m = 1; m <= mesh_self_terms; ++m)
            for (int n = m; n <= 2 * aliases; ++n)
                sums.shifted[m - 1] += transform[n] * transform[n - m];
    }
    return axis;
}

} // namespace graft::periodic
