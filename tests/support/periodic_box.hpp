// SPDX-License-Identifier: BSD-3-Clause
// Periodic boxes for tests on the CPU and on the GPU: settings, random charges, the oracle's field, errors. A
// Field has vectors ax, ay, az, potential, a number energy and six values virial.
#pragma once

#include "particle_cloud.hpp"

#include "settings/settings.hpp"
#include "reference/ewald_sum.hpp"

#include <algorithm>
#include <iterator>

namespace graft::test {

struct PeriodicBox {
    double edge[3] = {1, 1, 1}, lower[3] = {0, 0, 0}, tilt[3] = {0, 0, 0};
};

inline settings::Settings periodic_settings(const PeriodicBox& box,
                                            settings::Method method = settings::Method::direct,
                                            settings::Precision precision = settings::Precision::fp64) {
    settings::Settings s;
    s.method = method, s.precision = precision;
    s.interaction = settings::Interaction::coulomb;
    s.theta = 0; // all pairs: what the lattice sum alone gives
    s.long_range = settings::LongRange::sum; // exact; periodic_mesh_test.cpp is about the other
    s.has_box = s.periodic = true;
    for (int a = 0; a < 3; ++a) {
        s.box_lower[a] = box.lower[a], s.box_upper[a] = box.lower[a] + box.edge[a];
        s.box_tilt[a] = box.tilt[a];
    }
    return s;
}

/// Random charges, +-1 alternating or all positive: in the box, but every seventh `away` edges off it.
inline Cloud random_charges(const PeriodicBox& box, int64_t n, bool neutral = true, unsigned seed = 7,
                            double away = 0) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform;
    Cloud cloud;
    for (int64_t i = 0; i < n; ++i) {
        const double off = i % 7 == 0 ? away : 0;
        const double a = uniform(random) + off, b = uniform(random) - off, c = uniform(random);
        add(cloud, box.lower[0] + a * box.edge[0] + b * box.tilt[0] + c * box.tilt[1],
            box.lower[1] + b * box.edge[1] + c * box.tilt[2], box.lower[2] + c * box.edge[2],
            neutral ? (i % 2 != 0 ? -1 : 1) : 0.5 + 0.5 * uniform(random));
    }
    return cloud;
}

/// What the oracle says at the particles or at `points` (no sums then), with the interaction's signs.
/// `lengths`: softening per particle, images nearer than `reach`.
template <typename Field>
Field ewald_field(const Cloud& cloud, const settings::Settings& s, double reach = 0,
                  const Cloud* points = nullptr, bool lengths = false, int threads = 1) {
    const Cloud& at = points != nullptr ? *points : cloud;
    Field r;
    for (std::vector<double>* values : {&r.ax, &r.ay, &r.az, &r.potential})
        values->assign(at.x.size(), 0);
    double virial[6] = {};
    const reference::Cell cell{{{s.box_upper[0] - s.box_lower[0], 0, 0},
                                {s.box_tilt[0], s.box_upper[1] - s.box_lower[1], 0},
                                {s.box_tilt[1], s.box_tilt[2], s.box_upper[2] - s.box_lower[2]}}};
    const auto points_of = [&](const Cloud& c) {
        return reference::Points{c.size(), c.x.data(), c.y.data(), c.z.data(),
                                 lengths ? c.softening.data() : nullptr};
    };
    const double sign = s.interaction == settings::Interaction::coulomb ? 1 : -1;
    reference::ewald_sum(cell, points_of(cloud), cloud.q.data(), points_of(at),
                         static_cast<reference::Softening>(s.softening), s.softening_length, reach, threads,
                         {r.ax.data(), r.ay.data(), r.az.data(), r.potential.data()},
                         points != nullptr ? nullptr : &r.energy, points != nullptr ? nullptr : virial);
    for (size_t i = 0; i < at.x.size(); ++i)
        r.ax[i] *= -sign, r.ay[i] *= -sign, r.az[i] *= -sign, r.potential[i] *= sign;
    r.energy *= sign;
    if constexpr (requires { r.virial.resize(6); })
        r.virial.resize(6);
    std::transform(virial, virial + 6, std::begin(r.virial), [&](double v) { return -sign * v; });
    return r;
}

/// Adds to what `r` has of the particles, or of `points`, the pairs of a host with these: erfc(alpha r) / r of all images within
/// `cutoff`. Coulomb's signs.
template <typename Field>
void add_host_pairs(const Cloud& cloud, const settings::Settings& s, double alpha, double cutoff, Field& r,
                    const Cloud* points = nullptr) {
    const Cloud& at = points != nullptr ? *points : cloud;
    int most[3];
    const int beside = s.box_tilt[0] != 0 || s.box_tilt[1] != 0 || s.box_tilt[2] != 0 ? 2 : 1;
    for (int a = 0; a < 3; ++a) {
        const bool images = s.wire_axis >= 0 ? a == s.wire_axis : a != s.open_axis;
        most[a] = images ? beside + static_cast<int>(cutoff / (s.box_upper[a] - s.box_lower[a])) : 0;
    }
    const auto add_pair = [&](int64_t i, int64_t j, double x, double y, double z) {
        const double square = x * x + y * y + z * z, distance = std::sqrt(square);
        if (distance > cutoff || distance == 0)
            return;
        const double potential = cloud.q[j] * std::erfc(alpha * distance) / distance;
        const double force =
            (potential + cloud.q[j] * 2 * alpha / std::sqrt(3.14159265358979323846) * std::exp(-alpha * alpha * square)) / square;
        r.ax[i] += force * x, r.ay[i] += force * y, r.az[i] += force * z;
        r.potential[i] += potential;
        if (points != nullptr)
            return;
        r.energy += 0.5 * cloud.q[i] * potential;
        const double products[6] = {x * x, y * y, z * z, x * y, x * z, y * z};
        for (int c = 0; c < 6; ++c)
            r.virial[c] += 0.5 * cloud.q[i] * force * products[c];
    };
    for (int u = -most[0]; u <= most[0]; ++u)
        for (int v = -most[1]; v <= most[1]; ++v)
            for (int w = -most[2]; w <= most[2]; ++w) {
                const double x = u * (s.box_upper[0] - s.box_lower[0]) + v * s.box_tilt[0] + w * s.box_tilt[1];
                const double y = v * (s.box_upper[1] - s.box_lower[1]) + w * s.box_tilt[2];
                const double z = w * (s.box_upper[2] - s.box_lower[2]);
                for (size_t i = 0; i < at.x.size(); ++i)
                    for (size_t j = 0; j < cloud.x.size(); ++j)
                        add_pair(i, j, at.x[i] - cloud.x[j] - x, at.y[i] - cloud.y[j] - y, at.z[i] - cloud.z[j] - z);
            }
}

/// rms of a - b over rms of b, the accelerations; 1e300 where that is not a number.
template <typename Field>
double rms_error(const Field& a, const Field& b) {
    double difference = 0, size = 0;
    for (size_t i = 0; i < b.ax.size(); ++i) {
        const double x = a.ax[i] - b.ax[i], y = a.ay[i] - b.ay[i], z = a.az[i] - b.az[i];
        difference += x * x + y * y + z * z;
        size += b.ax[i] * b.ax[i] + b.ay[i] * b.ay[i] + b.az[i] * b.az[i];
    }
    const double error = std::sqrt(difference / size);
    return std::isfinite(error) ? error : 1e300;
}

} // namespace graft::test
