// SPDX-License-Identifier: BSD-3-Clause
// What the parts of study_liu2022 share: a scene on the device, times of kernels, how many run at once.
#pragma once

#include "../forces/evaluate_scene.hpp"
#include "study/papers/liu_fed_lists_gpu.cuh"
#include "study/papers/paper_variants_gpu.cuh"

#include <algorithm>
#include <cstdio>
#include <functional>

namespace liu2022 {

using namespace graft;
using forces::DeviceKernel;

inline double median_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[values.size() / 2];
}

/// Tree, lists and everything on the device for one size of leaves and groups.
struct Setting {
    Setting(backend::DeviceMemory& memory, backend::Queue& on, const test::Particles& bodies, int leaf,
            double theta)
        : queue(on), scene(bodies, options(leaf, theta)), device(memory), field(memory), work(memory),
          evaluator(memory) {
        device.upload(queue, scene);
        field.resize(scene.targets.count(), false);
    }
    static test::SceneOptions options(int leaf, double theta) {
        test::SceneOptions o;
        o.leaf = leaf, o.group = leaf, o.theta = theta, o.direct_count = 0;
        return o;
    }
    forces::DeviceEvaluation how(DeviceKernel kernel) const {
        forces::DeviceEvaluation h;
        h.precision = forces::DevicePrecision::fp32, h.kernel = kernel;
        h.order = scene.options.order, h.group = scene.options.group, h.leaf = scene.options.leaf;
        return h;
    }
    study::PaperView prepare() {
        const study::PaperView view =
            study::prepare_paper(work, queue, how(DeviceKernel::pairs_1d), device.tree, device.moments,
                                   device.targets, device.lists);
        queue.wait(); // feeds have streams of their own
        return view;
    }
    double seconds_of(const std::function<void()>& body, int repetitions = 5) {
        cudaEvent_t begin, end;
        GRAFT_CUDA(cudaEventCreate(&begin));
        GRAFT_CUDA(cudaEventCreate(&end));
        std::vector<double> times;
        for (int k = 0; k <= repetitions; ++k) {
            GRAFT_CUDA(cudaEventRecord(begin, queue.stream()));
            body();
            GRAFT_CUDA(cudaEventRecord(end, queue.stream()));
            queue.wait();
            float milliseconds = 0;
            GRAFT_CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
            if (k > 0)
                times.push_back(1e-3 * static_cast<double>(milliseconds));
        }
        (void)cudaEventDestroy(begin);
        (void)cudaEventDestroy(end);
        return median_of(times);
    }
    /// A whole evaluation from lists on the device, as `auto` and study.kernel run it.
    double evaluate(const forces::DeviceEvaluation& h) {
        const auto once = [&] {
            evaluator.evaluate(queue, h, device.tree, device.moments, device.targets, device.lists, field);
        };
        for (int attempt = 0; attempt < 3; ++attempt) {
            queue.clear_status();
            once();
            queue.fetch_status();
            queue.wait();
            const backend::DeviceStatus& words = queue.fetched_status();
            if (words.stop == backend::go)
                break;
            evaluator.reserve(words.tasks_needed, words.slots_needed);
        }
        pairs = queue.fetched_status().pairs, cells = queue.fetched_status().cells;
        return seconds_of(once);
    }

    backend::Queue& queue;
    test::Scene scene;
    test::DeviceScene device;
    forces::DeviceField field;
    study::VariantBuffers work;
    forces::DeviceEvaluator evaluator;
    double pairs = 0, cells = 0;
};

inline void print_kernel(Setting& on, const char* name, DeviceKernel kernel, int block_x, int block_y) {
    forces::DeviceEvaluation h = on.how(kernel);
    h.block_x = block_x, h.block_y = block_y;
    const double time = on.evaluate(h);
    std::printf("{\"liu2022\":\"kernels\",\"kernel\":\"%s\",\"leaf\":%d,\"block_x\":%d,\"block_y\":%d,"
                "\"time_s\":%.5g,\"pairs\":%.4g,\"cells\":%.4g,\"interactions_per_s\":%.4g}\n",
                name, on.scene.options.leaf, block_x, block_y, time, on.pairs, on.cells,
                (on.pairs + on.cells) / time);
    std::fflush(stdout);
}

struct Overlap {
    double average = 0, kernel_s = 0, host_gap_s = 0;
    int most = 0;
};

/// How many kernels were between their begin and end at a time; medians of their length and of the time from
/// one launch of a kind to the next.
inline Overlap overlap_of(const std::vector<study::PaperLaunch>& kernels) {
    Overlap overlap;
    std::vector<std::pair<double, int>> edges;
    std::vector<double> lengths, gaps;
    double busy = 0, sum = 0, last[2] = {-1, -1};
    for (const study::PaperLaunch& k : kernels) {
        edges.push_back({k.begin_s, 1}), edges.push_back({k.end_s, -1});
        lengths.push_back(k.end_s - k.begin_s);
        sum += lengths.back();
        double& before = last[k.leaves];
        if (before >= 0)
            gaps.push_back(k.host_s - before);
        before = k.host_s;
    }
    std::sort(edges.begin(), edges.end());
    int now = 0;
    for (size_t k = 0; k < edges.size(); ++k) {
        if (k > 0 && now > 0)
            busy += edges[k].first - edges[k - 1].first;
        now += edges[k].second;
        overlap.most = std::max(overlap.most, now);
    }
    overlap.average = busy > 0 ? sum / busy : 0;
    overlap.kernel_s = median_of(lengths), overlap.host_gap_s = median_of(gaps);
    return overlap;
}

} // namespace liu2022
