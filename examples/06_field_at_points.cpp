// SPDX-License-Identifier: BSD-3-Clause
// The field of a cloud at points of one's own choice: a rotation curve, as a bridge or an analysis code wants
// it.
#include <graft/graft.hpp>

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

int main() try {
    const int n = 50000, n_points = 9;
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> uniform(0, 1);
    std::vector<float> xyz(3 * n), m(n, 1.0f / n);
    for (int i = 0; i < n; ++i) { // a Plummer sphere of mass 1 and scale radius 1
        const double radius = 1 / std::sqrt(std::pow(uniform(random), -2.0 / 3) - 1);
        const double height = 2 * uniform(random) - 1, angle = 6.283185307179586 * uniform(random);
        const double ring = std::sqrt(1 - height * height);
        xyz[3 * i] = static_cast<float>(radius * ring * std::cos(angle));
        xyz[3 * i + 1] = static_cast<float>(radius * ring * std::sin(angle));
        xyz[3 * i + 2] = static_cast<float>(radius * height);
    }
    std::vector<double> points(3 * n_points), field(3 * n_points), phi(n_points);
    for (int k = 0; k < n_points; ++k)
        points[3 * k] = 0.5 * (k + 1);

    graft::Context gravity(graft::Options(graft::Library::load()).set("mac.theta", 0.4).set("order", 4));
    gravity.field_at(graft::Particles().positions(graft::view(xyz.data(), n, 3)).charges(m),
                     graft::Particles().positions(graft::view(points.data(), n_points, 3)),
                     graft::Results().accelerations(graft::view(field.data(), n_points, 3)).potentials(phi));
    bool right = true;
    for (int k = 0; k < n_points; ++k) {
        const double r = points[3 * k], speed = std::sqrt(-field[3 * k] * r);
        const double expected = r / std::pow(1 + r * r, 0.75);
        std::printf("r %.1f: circular speed %.4f, Plummer %.4f; potential %.4f, Plummer %.4f\n", r, speed,
                    expected, phi[k], -1 / std::sqrt(1 + r * r));
        right = right && std::abs(speed / expected - 1) < 0.05; // single points feel the nearest particles
    }
    return right ? 0 : 1;
} catch (const graft::Error& error) {
    std::fprintf(stderr, "graft: %s\n", error.what());
    return 1;
}
