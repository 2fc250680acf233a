// SPDX-License-Identifier: BSD-3-Clause
// Particles in plain vectors, made without the library: for tests on the CPU and on the GPU.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace graft::test {

struct Cloud {
    std::vector<double> x, y, z, q, softening;
    int64_t size() const { return static_cast<int64_t>(x.size()); }
};

inline void add(Cloud& cloud, double x, double y, double z, double q, double softening = 0.01) {
    cloud.x.push_back(x), cloud.y.push_back(y), cloud.z.push_back(z);
    cloud.q.push_back(q), cloud.softening.push_back(softening);
}

/// A Plummer sphere and a small dense ball beside it: many scales, few symmetries.
inline Cloud make_cloud(int64_t n, unsigned seed = 1, bool mixed_signs = false) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(1e-3, 0.99);
    Cloud cloud;
    for (int64_t i = 0; i < n; ++i) {
        const double a = normal(random), b = normal(random), c = normal(random);
        const bool ball = i % 4 == 0;
        const double r = (ball ? 0.05 : 1) / std::sqrt(std::pow(uniform(random), -2.0 / 3) - 1);
        const double s = r / std::sqrt(a * a + b * b + c * c);
        add(cloud, a * s + (ball ? 2 : 0), b * s, c * s,
            (0.5 + uniform(random)) * (mixed_signs && i % 2 ? -1 : 1),
            0.005 + 0.001 * static_cast<double>(i % 5));
    }
    return cloud;
}

/// A cusp with density 1 / r^(3/2) and lengths from half to one and a half times `softening`.
inline Cloud make_cusp(int64_t n, double softening, unsigned seed = 2) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(1e-3, 1);
    Cloud cloud;
    for (int64_t i = 0; i < n; ++i) {
        const double a = normal(random), b = normal(random), c = normal(random);
        const double s = std::pow(uniform(random), 4.0 / 3) / std::sqrt(a * a + b * b + c * c);
        add(cloud, a * s, b * s, c * s, 1, softening * (0.5 + uniform(random)));
    }
    return cloud;
}

/// Five clumps of size 1e-3 some 1e6 from each other, and lengths as above.
inline Cloud make_clumps(int64_t n, double softening, unsigned seed = 4) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal(0, 1e-3);
    std::uniform_real_distribution<double> uniform;
    Cloud cloud;
    for (int64_t i = 0; i < n; ++i) {
        const double clump = static_cast<double>(i % 5), a = normal(random), b = normal(random), c = normal(random);
        add(cloud, 1e6 * std::sin(clump) + a, 1e6 * std::sin(2 * clump) + b, 1e6 * std::sin(3 * clump) + c, 1,
            softening * (0.5 + uniform(random)));
    }
    return cloud;
}

/// The first particle where fields do not cancel, as heavy as so many times all others.
inline Cloud with_heavy_body(Cloud cloud, double mass) {
    double others = 0;
    for (size_t i = 1; i < cloud.q.size(); ++i)
        others += std::abs(cloud.q[i]);
    cloud.x[0] = 0.6, cloud.y[0] = 0.9, cloud.z[0] = -0.2, cloud.q[0] = mass * others;
    return cloud;
}

} // namespace graft::test
