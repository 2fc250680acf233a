// SPDX-License-Identifier: BSD-3-Clause
// The oracle, see direct_sum.hpp. Sums after Neumaier 1974 (ZAMM 54, 39).
#include "reference/direct_sum.hpp"
#include "reference/loop.hpp"

#include <algorithm>
#include <cmath>

namespace graft::reference {
namespace {

struct CompensatedSum {
    double sum = 0, lost = 0;
    void add(double value) {
        const double total = sum + value;
        lost += std::fabs(sum) >= std::fabs(value) ? (sum - total) + value : (value - total) + sum;
        sum = total;
    }
    double value() const { return sum + lost; }
};

struct Factors {
    double force, potential; // multiply q d and q
};

Factors newton(double r) {
    return r > 0 ? Factors{1 / (r * r * r), 1 / r} : Factors{0, 0};
}

Factors plummer(double r, double eps) {
    const double root = std::sqrt(r * r + eps * eps);
    return root > 0 ? Factors{1 / (root * root * root), 1 / root} : Factors{0, 0};
}

/// Springel 2005, the spline kernel integrated: Gauss's law for the force, and the potential W2(u)/h.
Factors spline(double r, double h) {
    if (!(r < h))
        return newton(r);
    const double u = r / h;
    const double h3 = h * h * h;
    if (u < 0.5)
        return {(32.0 / 3 - 192.0 / 5 * u * u + 32 * u * u * u) / h3,
                (14.0 / 5 - 16.0 / 3 * u * u + 48.0 / 5 * std::pow(u, 4) - 32.0 / 5 * std::pow(u, 5)) / h};
    return {(64.0 / 3 - 48 * u + 192.0 / 5 * u * u - 32.0 / 3 * u * u * u - 1 / (15 * u * u * u)) / h3,
            (-1 / (15 * u) + 16.0 / 5 - 32.0 / 3 * u * u + 16 * u * u * u - 48.0 / 5 * std::pow(u, 4) +
             32.0 / 15 * std::pow(u, 5)) /
                h};
}

Factors pair(Softening softening, double r, double length_i, double length_j) {
    if (softening == Softening::plummer)
        return plummer(r, std::sqrt(0.5 * (length_i * length_i + length_j * length_j)));
    return softening == Softening::spline ? spline(r, std::max(length_i, length_j)) : newton(r);
}

} // namespace

void direct_sum(const Points& sources, const double* charge, const Points& targets, const int64_t* self,
                Softening softening, double length, int threads, const Field& field) {
    for_each(targets.count, threads, 16, [&](int64_t i) {
        CompensatedSum x, y, z, potential;
        const double length_i = targets.softening != nullptr ? targets.softening[i] : length;
        for (int64_t j = 0; j < sources.count; ++j) {
            if (self != nullptr && self[i] == j)
                continue;
            const double dx = sources.x[j] - targets.x[i], dy = sources.y[j] - targets.y[i];
            const double dz = sources.z[j] - targets.z[i];
            const double length_j = sources.softening != nullptr ? sources.softening[j] : length;
            const Factors f = pair(softening, std::sqrt(dx * dx + dy * dy + dz * dz), length_i, length_j);
            x.add(charge[j] * f.force * dx);
            y.add(charge[j] * f.force * dy);
            z.add(charge[j] * f.force * dz);
            potential.add(charge[j] * f.potential);
        }
        field.ax[i] = x.value();
        field.ay[i] = y.value();
        field.az[i] = z.value();
        if (field.potential != nullptr)
            field.potential[i] = potential.value();
    });
}

} // namespace graft::reference
