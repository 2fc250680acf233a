// SPDX-License-Identifier: BSD-3-Clause
// study_liu2022 with `buffers`: the feed of deck key study.buffer, all sizes beside the model's.
#pragma once

#include "liu2022.hpp"
#include "engine/buffer_tuning.hpp"

#include <map>

namespace liu2022 {

/// The lists in the model's words.
inline model::PaperCounts work_of(const Setting& on) {
    const test::Scene& scene = on.scene;
    double sources = 0;
    for (int64_t e = 0; e < scene.lists.leaves.size(); ++e)
        sources += static_cast<double>(scene.tree.nodes[scene.lists.leaves[e]].count);
    const auto entries = static_cast<double>(scene.lists.leaves.size());
    return {scene.options.leaf,
            scene.options.group,
            scene.options.order,
            static_cast<double>(scene.targets.count()),
            static_cast<double>(scene.targets.group_count()),
            entries,
            static_cast<double>(scene.lists.nodes.size()),
            entries > 0 ? sources / entries : 0};
}

/// The product's feed (deck key study.buffer) with all buffers, each beside what was predicted before it ran;
/// then what it chooses by itself.
class FedStudy {
  public:
    FedStudy(Setting& on, bool tiles)
        : on_(on), how_(on.how(tiles ? DeviceKernel::tiles_2d : DeviceKernel::pairs_1d)),
          block_(tiles ? model::paper_tiles_2d : model::paper_pairs_1d), work_(work_of(on)),
          fed_(on.queue.memory()) {
        settings_.device.kernel = static_cast<int32_t>(how_.kernel);
    }
    void run() {
        print_kernel(on_, name(), how_.kernel, 0, 0);          // lists on the device
        once(8192);                                            // touches the memory
        const bool many = on_.scene.targets.count() > 1000000; // seconds with small buffers
        const double step = many ? 4 : 2;
        for (double buffer = many ? 2048 : model::least_buffer; buffer <= model::most_buffer;
             buffer *= step) {
            measure(buffer);
            print("fed buffer", seconds_[buffer], trace(static_cast<int32_t>(buffer)));
        }
        tuning_.set(nullptr);
        while (once(settings::feed_auto).by.find("by t") == std::string::npos)
            print("fed auto", tuning_.told().fed.wall_s, {});
        const engine::BufferTuning::Told told = tuning_.told();
        const auto chosen = static_cast<double>(told.fed.buffer);
        measure(chosen);
        const auto best = std::ranges::min_element(seconds_, {}, [](const auto& one) { return one.second; });
        std::printf("{\"liu2022\":\"fed choice\",\"kernel\":\"%s\",\"best\":%.0f,\"best_s\":%.5g,"
                    "\"chosen\":%.0f,\"by\":\"%s\",\"regret\":%.3f}\n",
                    name(), best->first, best->second, chosen, told.by.c_str(),
                    seconds_[chosen] / best->second - 1);
        std::fflush(stdout);
    }

  private:
    const char* name() const { return block_.y > 0 ? "2-D" : "1-D"; }
    const engine::BufferTuning::Told& once(int32_t buffer) {
        settings::Settings settings = settings_;
        settings.device.buffer = buffer;
        tuning_.before(settings, true);
        feed(settings.device.buffer, false);
        tuning_.after(fed_.report(), work_, block_);
        return tuning_.told();
    }
    void measure(double buffer) {
        std::vector<double> walls;
        for (int k = 0; k < 3; ++k)
            walls.push_back(once(static_cast<int32_t>(buffer)).fed.wall_s);
        seconds_.emplace(buffer, median_of(walls));
    }
    void feed(int64_t buffer, bool trace) {
        on_.queue.clear_status();
        fed_.evaluate(on_.queue, how_, buffer, on_.device.tree, on_.device.moments, on_.device.targets,
                      on_.device.lists, on_.field, trace);
        on_.queue.wait();
    }
    Overlap trace(int32_t buffer) {
        feed(buffer, true);
        return overlap_of(fed_.traced());
    }
    void print(const char* what, double wall_s, const Overlap& overlap) const {
        const engine::BufferTuning::Told& told = tuning_.told();
        const forces::FedReport& fed = told.fed;
        const model::PaperFeedTimes& p = told.predicted;
        std::printf(
            "{\"liu2022\":\"%s\",\"kernel\":\"%s\",\"buffer\":%lld,\"by\":\"%s\",\"time_s\":%.5g,"
            "\"append_s\":%.4g,\"call_s\":%.4g,\"wait_s\":%.4g,\"launches\":%lld,\"interactions\":%.6g,"
            "\"predicted_s\":{\"total\":%.5g,\"append\":%.4g,\"call\":%.4g,\"fill\":%.4g,"
            "\"device\":%.4g,\"tail\":%.4g},\"kernels_at_once\":%.2f,\"kernel_s\":%.4g,"
            "\"launch_gap_s\":%.4g}\n",
            what, name(), static_cast<long long>(fed.buffer), told.by.c_str(), wall_s, fed.append_s,
            fed.call_s, fed.wait_s, static_cast<long long>(fed.launches),
            static_cast<double>(fed.leaf_entries + fed.node_entries), p.total_s(), p.append_s, p.call_s,
            p.fill_s, p.device_s, p.tail_s, overlap.average, overlap.kernel_s, overlap.host_gap_s);
        std::fflush(stdout);
    }

    Setting& on_;
    forces::DeviceEvaluation how_;
    model::BlockShape block_;
    model::PaperCounts work_;
    study::FedEvaluator fed_;
    settings::Settings settings_;
    engine::BufferTuning tuning_;
    std::map<double, double> seconds_;
};

} // namespace liu2022
