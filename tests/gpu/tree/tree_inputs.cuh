// SPDX-License-Identifier: BSD-3-Clause
// Clouds of particles that trees are compared on, CPU against GPU.
#pragma once

#include "tree/build.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace graft::test {

struct Cloud {
    std::string name;
    std::vector<double> x, y, z, charge, softening;
    int64_t size() const { return static_cast<int64_t>(x.size()); }
    void add(double px, double py, double pz, double q) {
        x.push_back(px), y.push_back(py), z.push_back(pz), charge.push_back(q);
        softening.push_back(0.01 * static_cast<double>(x.size() % 5));
    }
    tree::ParticleView view() const {
        return {size(), x.data(), y.data(), z.data(), charge.data(), softening.data()};
    }
};

enum class Shape { plummer, uniform, clustered, disc, equal, heaps, far, line, zeros, mixed, neutral, deep };

inline Cloud make_cloud(Shape shape, int64_t n, unsigned seed = 1) {
    static const char* names[] = {"plummer", "uniform", "clustered", "disc",  "equal",   "heaps",
                                  "far",     "line",    "zeros",     "mixed", "neutral", "deep"};
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> unit(0, 1), signed_unit(-1, 1);
    std::normal_distribution<double> normal;
    Cloud cloud;
    cloud.name = names[static_cast<int>(shape)];
    for (int64_t i = 0; i < n; ++i) {
        double p[3] = {signed_unit(random), signed_unit(random), signed_unit(random)};
        double q = 1.0 / static_cast<double>(n);
        const double length = std::sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) + 1e-30;
        switch (shape) {
        case Shape::plummer: {
            const double r = 1 / std::sqrt(std::pow(0.999 * unit(random) + 1e-9, -2.0 / 3.0) - 1);
            for (double& c : p)
                c *= r / length;
            break;
        }
        case Shape::clustered:
            for (int a = 0; a < 3; ++a)
                p[a] = std::sin(static_cast<double>((i % 17) * (a + 3))) +
                       1e-2 * std::pow(unit(random), 2) * p[a];
            break;
        case Shape::disc:
            p[2] *= 1e-3;
            break;
        case Shape::equal:
            p[0] = 0.1, p[1] = 0.2, p[2] = 0.3;
            break;
        case Shape::heaps:
            p[0] = static_cast<double>(random() % 10), p[1] = 0.1 * static_cast<double>(random() % 3),
            p[2] = 1;
            break;
        case Shape::far:
            p[0] += i % 2 ? 1e12 : 0, p[2] += i % 2 ? 1e12 : 0;
            break;
        case Shape::line:
            p[1] = 0.25, p[2] = -3;
            break;
        case Shape::zeros:
            p[0] = i % 2 ? 0.0 : -0.0, p[1] = i % 3 ? 0.0 : -0.0,
            p[2] = i % 4 == 1 ? -0.0
                   : p[2] < 0 ? 0.0
                              : p[2];
            q = 0;
            break;
        case Shape::mixed:
            q = normal(random);
            break;
        case Shape::neutral:
            q = i % 2 ? 1.0 : -1.0;
            break;
        case Shape::deep: // heaps far smaller than a key cell
            for (int a = 0; a < 3; ++a)
                p[a] = static_cast<double>(random() % 4) + 1e-9 * p[a];
            break;
        default:
            break;
        }
        cloud.add(p[0], p[1], p[2], q);
    }
    return cloud;
}

/// One tree built by the CPU, with what it needs.
struct HostTree {
    core::Memory memory;
    tree::Tree tree{memory};
    tree::BuildTimes times;
    HostTree() = default;
    HostTree(const Cloud& cloud, const tree::TreeOptions& options, bool with_softening = true) {
        tree::ParticleView view = cloud.view();
        if (!with_softening)
            view.softening = nullptr;
        tree::TreeBuilder(memory).build({memory, 2}, options, view, tree, times);
    }
};

} // namespace graft::test
