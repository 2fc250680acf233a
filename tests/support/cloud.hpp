// SPDX-License-Identifier: BSD-3-Clause
// A skewed cloud of particles and its tree: no multipole vanishes by symmetry.
#pragma once

#include "moments/moments.hpp"
#include "tree/build.hpp"

#include <random>
#include <vector>

namespace support {

using namespace graft;

struct Cloud {
    core::Memory memory;
    backend::Executor executor{memory, 1};
    std::vector<double> x, y, z, q, h;
    tree::Tree tree{memory};
    moments::Moments moments{memory};

    Cloud(int n, bool mixed, int leaf, double size = 1, double offset = 0) {
        std::mt19937_64 random(7);
        std::uniform_real_distribution<double> uniform(-0.5, 0.5);
        for (int i = 0; i < n; ++i) {
            const double u = uniform(random) + 0.5, v = uniform(random) + 0.5;
            x.push_back(offset + size * u * u * u);
            y.push_back(size * v * v);
            z.push_back(size * uniform(random) * uniform(random));
            q.push_back(mixed ? uniform(random) : 0.75 + 0.5 * uniform(random));
            h.push_back(0.1 * size * (1 + uniform(random)));
        }
        tree::TreeOptions options;
        options.leaf = leaf;
        tree::BuildTimes times;
        tree::TreeBuilder builder(memory);
        builder.build(executor, options, n, x.data(), y.data(), z.data(), q.data(), h.data(), tree, times);
    }
};

} // namespace support
