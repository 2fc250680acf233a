// SPDX-License-Identifier: BSD-3-Clause
// A Plummer sphere with real moments and the force-error MAC, for timings: as a user's first computation.
#pragma once

#include "device_scene.cuh"

#include "moments/moments.hpp"
#include "lists/error_reach.hpp"
#include "lists/field_estimate.hpp"

#include <cmath>
#include <numbers>

namespace graft::test {

struct PlummerScene {
    core::Memory memory;
    backend::Executor executor{memory, backend::resolve_threads(0)};
    tree::Tree tree{memory};
    moments::Moments moments{memory};
    lists::TargetSet targets{memory};
    Criterion criterion{memory};
    lists::CriterionOptions options;
    core::Buffer<double> reach{memory, "reach"}, size{memory, "size"};

    PlummerScene(int64_t n, int leaf, int group, double accuracy = 1e-3, int order = 2) {
        std::mt19937_64 random(42);
        std::uniform_real_distribution<double> uniform(0, 1);
        std::vector<double> x, y, z, charge(static_cast<size_t>(n), 1.0 / static_cast<double>(n));
        for (int64_t i = 0; i < n; ++i) {
            const double r = 1 / std::sqrt(std::pow(0.999 * uniform(random) + 1e-12, -2.0 / 3) - 1);
            const double c = 2 * uniform(random) - 1, angle = 2 * std::numbers::pi * uniform(random);
            const double s = r * std::sqrt(1 - c * c);
            x.push_back(s * std::cos(angle)), y.push_back(s * std::sin(angle)), z.push_back(r * c);
        }
        tree::TreeOptions tree_options;
        tree_options.leaf = leaf;
        tree::BuildTimes times;
        tree::TreeBuilder(memory).build(executor, tree_options, n, x.data(), y.data(), z.data(),
                                        charge.data(), nullptr, tree, times);
        moments::compute_moments(executor, tree, order, moments);
        targets.set_all(executor, tree, group);
        lists::estimate_accelerations(executor, {tree, moments, 0, targets.groups(), {settings::Settings{}, false}}, size);
        for (int64_t g = 0; g < targets.group_count(); ++g)
            targets.groups()[g].target.factor = lists::error_factor(order, accuracy, size[g]);
        reach.resize(tree.node_count());
        for (int64_t k = 0; k < tree.node_count(); ++k)
            reach[k] = lists::error_reach(order, moments.magnitude[k], moments.spread[k],
                                             moments.radius[k], false, 0, 0);
        options.mac = Mac::error, options.theta = 1, options.direct_count = 3;
        lists::NodeProperties properties{moments.cx.data(),     moments.cy.data(), moments.cz.data(),
                                         moments.radius.data(), reach.data(),      nullptr};
        lists::fill_criterion(executor, tree, options, properties, criterion);
    }
};

/// Median of `runs` timings in seconds, after one run to warm up.
template <typename Work>
double median_time_s(backend::Queue& queue, const Work& work, int runs = 7) {
    cudaEvent_t begin, end;
    GRAFT_CUDA(cudaEventCreate(&begin));
    GRAFT_CUDA(cudaEventCreate(&end));
    std::vector<float> times_ms;
    for (int run = -1; run < runs; ++run) {
        GRAFT_CUDA(cudaEventRecord(begin, queue.stream()));
        work();
        GRAFT_CUDA(cudaEventRecord(end, queue.stream()));
        queue.wait();
        float time_ms = 0;
        GRAFT_CUDA(cudaEventElapsedTime(&time_ms, begin, end));
        if (run >= 0)
            times_ms.push_back(time_ms);
    }
    GRAFT_CUDA(cudaEventDestroy(begin));
    GRAFT_CUDA(cudaEventDestroy(end));
    std::sort(times_ms.begin(), times_ms.end());
    return times_ms[times_ms.size() / 2] * 1e-3;
}

} // namespace graft::test
