// SPDX-License-Identifier: BSD-3-Clause
// The oracle of slabs (images along two axes): the two-dimensional Ewald sum in long double, plainly.
//
// No vacuum, no correction: it shares neither code nor formula with what it judges. Units and signs as in
// direct_sum.hpp; a target that is a source feels its own images and not itself. Layers act on each other by
// -2 pi |z| / A, whatever their net charge. Source: Parry 1975 (Surface Science 49, 433; 54, 195), as in de
// Leeuw & Perram 1979.
#pragma once

#include "reference/pair_loop.hpp"

#include <cmath>

namespace graft::reference {

namespace slab_detail {

inline constexpr Real pi = 3.14159265358979323846264338327950288L;
inline constexpr Real enough = 6.6L; // erfc = 1e-20

struct Plane {
    Real edge[2][2], dual[2][2], area, alpha;
    int images[2], waves[2];
};

inline Plane plane_of(const double (&a)[2], const double (&b)[2]) {
    Plane p{{{a[0], a[1]}, {b[0], b[1]}}, {}, 0, 0, {}, {}};
    const Real cross = p.edge[0][0] * p.edge[1][1] - p.edge[0][1] * p.edge[1][0];
    p.area = std::abs(cross);
    p.alpha = 2.5L / std::sqrt(p.area);
    p.dual[0][0] = p.edge[1][1] / cross;
    p.dual[0][1] = -p.edge[1][0] / cross;
    p.dual[1][0] = -p.edge[0][1] / cross;
    p.dual[1][1] = p.edge[0][0] / cross;
    for (int c = 0; c < 2; ++c) {
        p.images[c] =
            static_cast<int>(std::ceil(enough / p.alpha * std::hypot(p.dual[c][0], p.dual[c][1]))) + 1;
        p.waves[c] =
            static_cast<int>(2 * p.alpha * enough / (2 * pi) * std::hypot(p.edge[c][0], p.edge[c][1])) + 1;
    }
    return p;
}

/// Images of a source at distance (x, y, z) = target - source.
inline void add_images(const Plane& p, Real q, Real x, Real y, Real z, LongSum& sum) {
    const Real fraction[2] = {p.dual[0][0] * x + p.dual[0][1] * y, p.dual[1][0] * x + p.dual[1][1] * y};
    for (int i = -p.images[0]; i <= p.images[0]; ++i)
        for (int j = -p.images[1]; j <= p.images[1]; ++j) {
            const Real m = static_cast<Real>(i) - std::round(fraction[0]),
                       n = static_cast<Real>(j) - std::round(fraction[1]);
            const Real dx = x + m * p.edge[0][0] + n * p.edge[1][0],
                       dy = y + m * p.edge[0][1] + n * p.edge[1][1];
            const Real r = std::sqrt(dx * dx + dy * dy + z * z), peak = 2 * p.alpha / std::sqrt(pi);
            if (r == 0) { // itself, which the waves hold
                sum.potential -= q * peak;
                continue;
            }
            const Real potential = std::erfc(p.alpha * r) / r;
            const Real force = q * (potential + peak * std::exp(-p.alpha * p.alpha * r * r)) / (r * r);
            sum.potential += q * potential;
            sum.x -= force * dx;
            sum.y -= force * dy;
            sum.z -= force * z;
        }
}

inline void add_waves(const Plane& p, Real q, Real x, Real y, Real z, LongSum& sum) {
    for (int i = -p.waves[0]; i <= p.waves[0]; ++i)
        for (int j = -p.waves[1]; j <= p.waves[1]; ++j) {
            const Real kx =
                2 * pi * (static_cast<Real>(i) * p.dual[0][0] + static_cast<Real>(j) * p.dual[1][0]);
            const Real ky =
                2 * pi * (static_cast<Real>(i) * p.dual[0][1] + static_cast<Real>(j) * p.dual[1][1]);
            const Real k = std::hypot(kx, ky);
            if (k == 0 || k > 2 * p.alpha * enough)
                continue;
            const Real up = std::exp(k * z) * std::erfc(k / (2 * p.alpha) + p.alpha * z);
            const Real down = std::exp(-k * z) * std::erfc(k / (2 * p.alpha) - p.alpha * z);
            const Real cosine = std::cos(kx * x + ky * y), sine = std::sin(kx * x + ky * y),
                       weight = q * pi / p.area;
            sum.potential += weight / k * cosine * (up + down);
            sum.x -= weight / k * sine * kx * (up + down);
            sum.y -= weight / k * sine * ky * (up + down);
            sum.z += weight * cosine * (up - down);
        }
    const Real u = p.alpha * z;
    sum.potential -=
        q * 2 * std::sqrt(pi) / p.area * (std::exp(-u * u) / p.alpha + std::sqrt(pi) * z * std::erf(u));
    sum.z -= q * 2 * pi / p.area * std::erf(u);
}

} // namespace slab_detail

/// Overwrites `field` at the targets; a[2] and b[2] are the edge vectors in the x y plane, z is the open
/// axis. Any thread count gives the same bits. Cost: about sources * targets * 1e3. Throws std::bad_alloc.
inline void slab_sum(const double (&a)[2], const double (&b)[2], const Points& sources, const double* charge,
              const Points& targets, int threads, const Field& field) {
    using namespace slab_detail;
    const Plane plane = plane_of(a, b);
    sum_pairs(sources, charge, targets, threads, field, [&](Real q, Real x, Real y, Real z, LongSum& sum) {
        add_images(plane, q, x, y, z, sum);
        add_waves(plane, q, x, y, z, sum);
    });
}

} // namespace graft::reference
