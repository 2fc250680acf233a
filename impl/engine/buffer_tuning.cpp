// SPDX-License-Identifier: BSD-3-Clause
// See buffer_tuning.hpp.
#include "engine/buffer_tuning.hpp"

#include "core/error.hpp"
#include "forces/gpu_kernel.hpp"

#include <algorithm>

namespace graft::engine {

namespace {

constexpr size_t rounds = 3;
constexpr double changed = 1.5; // times as many interactions, or as few
constexpr double busy = 0.8;    // of the time; a host that is less waits for the device

bool is_fed(const settings::Settings& settings) {
    const auto kernel = static_cast<forces::DeviceKernel>(settings.device.kernel);
    return settings.device.buffer != 0 &&
           (kernel == forces::DeviceKernel::pairs_1d || kernel == forces::DeviceKernel::tiles_2d);
}

double entries_of(const model::PaperCounts& work) {
    return work.leaf_entries + work.node_entries;
}

} // namespace

void BufferTuning::set(const model::Machine* machine) {
    *this = {};
    if (machine != nullptr)
        gpu_ = model::paper_gpu(*machine);
}

void BufferTuning::before(settings::Settings& settings, bool whole) {
    told_ = {};
    whole_ = whole;
    int32_t& buffer = settings.device.buffer;
    if (!is_fed(settings))
        buffer = 0;
    automatic_ = buffer == settings::feed_auto;
    if (automatic_)
        buffer = static_cast<int32_t>(
            contenders_.empty()
                ? first_buffer
                : contenders_[settled_ || !whole ? chosen_ : turn_ % contenders_.size()].buffer);
}

bool BufferTuning::is_new(const model::PaperCounts& work, model::BlockShape block) const {
    const double now = entries_of(work), then = entries_of(work_);
    return contenders_.empty() || block != block_ || work.most_in_leaf != work_.most_in_leaf ||
           work.most_in_group != work_.most_in_group || now > changed * then || now < then / changed;
}

/// The model's opinion of lists that it has not seen.
void BufferTuning::begin_again(const model::PaperCounts& work, model::BlockShape block,
                               const model::PaperFeedCounts& feed) {
    work_ = work;
    block_ = block;
    contenders_.clear();
    turn_ = chosen_ = 0;
    settled_ = false;
    const double best = model::rank_paper_buffers(feed, host_, gpu_).front().interactions;
    for (const double buffer : {best, best / 2, best * 2})
        if (buffer >= model::least_buffer && buffer <= model::most_buffer)
            contenders_.push_back({buffer, {}});
}

/// Who was fastest in its fastest round.
void BufferTuning::settle() {
    settled_ = true;
    const auto least = [](const Contender& one) { return *std::ranges::min_element(one.seconds); };
    const auto found = std::ranges::min_element(contenders_, {}, least);
    chosen_ = static_cast<size_t>(found - contenders_.begin());
    verdict_ = chosen_ == 0 ? "by the model, and by trial"
                            : core::format("by trial: %.1f %% faster than the model's %.0f",
                                           100 * (1 - least(*found) / least(contenders_.front())),
                                           contenders_.front().buffer);
}

void BufferTuning::next_turn(const forces::FedReport& fed, double interactions) {
    Contender& running = contenders_[turn_ % contenders_.size()];
    if (static_cast<double>(fed.buffer) != running.buffer || interactions <= 0)
        return; // it had to take another
    running.seconds.push_back(fed.wall_s / interactions);
    ++turn_;
    told_.by = core::format("trial %zu of %zu", turn_, rounds * contenders_.size());
    if (turn_ == rounds * contenders_.size())
        settle();
}

/// What the host took; and the device, where the host waited for it.
void BufferTuning::learn(const forces::FedReport& fed, const model::PaperFeedCounts& feed) {
    const double interactions = feed.leaf_entries + feed.node_entries;
    if (interactions <= 0 || fed.launches <= 0)
        return;
    const auto mix = [this](double& known, double now) { known = learned_ ? 0.5 * (known + now) : now; };
    mix(host_.append_s, fed.append_s / interactions);
    mix(host_.call_s, fed.call_s / static_cast<double>(fed.launches));
    if (fed.append_s + fed.call_s < busy * fed.wall_s) {
        const double device_s = told_.predicted.fill_s + told_.predicted.device_s;
        mix(device_ratio_, device_ratio_ * fed.wall_s / device_s);
    }
    learned_ = true;
}

void BufferTuning::after(const forces::FedReport& fed, const model::PaperCounts& work,
                         model::BlockShape block) {
    told_.fed = fed;
    if (fed.buffer == 0)
        return;
    model::PaperFeedCounts feed = model::paper_feed_work(work, block, gpu_);
    feed.device_s *= device_ratio_;
    feed.latency_s *= device_ratio_;
    told_.predicted = model::paper_feed_times(feed, static_cast<double>(fed.buffer), host_, gpu_);
    learn(fed, feed);
    told_.by = automatic_ ? "known from evaluations of all particles" : "given";
    if (!automatic_ || !whole_)
        return;
    if (is_new(work, block)) {
        begin_again(work, block, feed);
        told_.by = "the first: the model needs its counts";
    } else if (!settled_) {
        next_turn(fed, feed.leaf_entries + feed.node_entries);
    } else {
        told_.by = verdict_;
    }
}

} // namespace graft::engine
