// SPDX-License-Identifier: BSD-3-Clause
// The buffers through which the host feeds liu2022's GPU kernels (deck key study.buffer): by the model, then
// by trial over the next evaluations.
//
// The first evaluation counts the lists and measures what the host takes; the model (model/liu_feed.hpp)
// then ranks buffers, and its best and the sizes beside it take turns: results are right all the while. The
// fastest stays until lists have changed by half, or leaves, groups or blocks; then it begins again. What is
// predicted of a feed is predicted before it, with what the host took in those that came before. Source:
// liu2022, section 4 (figures 4.2 and 4.7).
#pragma once

#include "forces/fed_report.hpp"
#include "model/liu_feed.hpp"
#include "settings/settings.hpp"

#include <string>
#include <vector>

namespace graft::engine {

/// Before lists are counted: the optimum is flat.
inline constexpr double first_buffer = 65536;

class BufferTuning {
  public:
    /// The numbers of the GPU; NULL: built in.
    void set(const model::Machine* machine);

    /// Puts the next evaluation's buffer into `settings` where they leave it to us (feed_auto), and 0 where
    /// the kernel takes none. whole: of all particles at themselves; others teach nothing.
    void before(settings::Settings& settings, bool whole);
    /// After it: the lists that it fed, and what that took. fed.buffer 0: nothing was fed.
    void after(const forces::FedReport& fed, const model::PaperCounts& work, model::BlockShape block);

    /// Of the last evaluation.
    struct Told {
        forces::FedReport fed; // buffer 0: nothing was
        model::PaperFeedTimes predicted;
        std::string by; // who chose the buffer
    };
    const Told& told() const { return told_; }

  private:
    struct Contender {
        double buffer;
        std::vector<double> seconds; // an interaction
    };
    bool is_new(const model::PaperCounts& work, model::BlockShape block) const;
    void begin_again(const model::PaperCounts& work, model::BlockShape block,
                     const model::PaperFeedCounts& feed);
    void next_turn(const forces::FedReport& fed, double interactions);
    void settle();
    void learn(const forces::FedReport& fed, const model::PaperFeedCounts& feed);

    model::PaperGpu gpu_;
    model::PaperFeedHost host_;
    double device_ratio_ = 1; // of this machine's kernels over the model's
    bool learned_ = false, automatic_ = false, whole_ = false;
    model::PaperCounts work_;
    model::BlockShape block_;
    std::vector<Contender> contenders_; // the model's best first; empty: nothing counted yet
    size_t turn_ = 0, chosen_ = 0;
    bool settled_ = false;
    std::string verdict_;
    Told told_;
};

} // namespace graft::engine
