// SPDX-License-Identifier: BSD-3-Clause
// See tree_tuning.hpp.
#include "engine/tree_tuning.hpp"

#include "core/error.hpp"
#include "forces/gpu_kernel.hpp"
#include "engine/buffer_tuning.hpp"
#include "engine/gpu/tight_memory.hpp"
#include "forces/m2l/m2l_choice.hpp"
#include "engine/report.hpp"

#include <algorithm>

namespace graft::engine {

namespace {

constexpr const char* nobody = "fixed"; // nobody chooses
constexpr size_t most_contenders = 4;   // with the start
constexpr double promising = 1.1;       // times the least predicted time
constexpr int trial_rounds = 5;         // the first touches new memory and does not count; by chance
                                        // alone the other four all win in 1 of 70 trials
constexpr double worth_a_change = 0.9;  // of the start's predicted time: the model's own error is no less
constexpr double changed = 1.5;         // times as many particles, or as few

double seconds_of(const Report& report) {
    const Report::Times& t = report.time_s;
    return t.sort + t.tree + t.moments + t.lists + t.forces;
}

std::string words_of(const model::TreeSizes& sizes) {
    std::string words = core::format("leaf %d, group %d", sizes.leaf, sizes.group);
    if (sizes.block.x > 0)
        words += core::format(", block %d", sizes.block.x);
    if (sizes.block.y > 0)
        words += core::format(" x %d", sizes.block.y);
    return words;
}

bool has_blocks(model::TreeKernels kernels) {
    return kernels == model::TreeKernels::pairs_1d || kernels == model::TreeKernels::tiles_2d;
}

} // namespace

model::TreeKernels tree_kernels(const settings::Settings& settings, bool on_gpu) {
    using forces::DeviceKernel;
    if (!on_gpu)
        return model::TreeKernels::cpu;
    const auto kernel = static_cast<DeviceKernel>(settings.device.kernel);
    return kernel == DeviceKernel::pairs_1d   ? model::TreeKernels::pairs_1d
           : kernel == DeviceKernel::tiles_2d ? model::TreeKernels::tiles_2d
                                              : model::TreeKernels::gpu;
}

void TreeTuning::set(TreeSizesBy by, bool leaf_given, bool group_given, const model::Machine* machine) {
    by_ = by;
    leaf_given_ = leaf_given;
    group_given_ = group_given;
    gpu_ = machine != nullptr ? model::paper_gpu(*machine) : model::PaperGpu();
    particles_ = -1;
}

void TreeTuning::begin_again(model::TreeSizes asked, int64_t particles) {
    asked_ = start_ = now_ = asked;
    particles_ = particles;
    contenders_.clear();
    chosen_ = turn_ = 0;
    round_ = 0;
    ratio_ = 0;
    settled_ = false;
    verdict_.clear();
}

/// The sizes that the settings say; 0 where the GPU chooses.
model::TreeSizes TreeTuning::asked_of(const settings::Settings& settings, model::TreeKernels kernels) const {
    const bool open = kernels != model::TreeKernels::cpu && !settings.tuned;
    model::TreeSizes sizes{open ? 0 : settings.leaf, open ? 0 : settings.group, {}};
    if (!has_blocks(kernels))
        return sizes;
    const bool one = kernels == model::TreeKernels::pairs_1d;
    sizes.block = one ? model::paper_pairs_1d : model::paper_tiles_2d;
    if (settings.device.block_x > 0)
        sizes.block.x = settings.device.block_x;
    if (settings.device.block_y > 0 && !one)
        sizes.block.y = settings.device.block_y;
    return sizes;
}

bool TreeTuning::all_given(const settings::Settings& settings, model::TreeKernels kernels) const {
    const bool x = settings.device.block_x > 0, y = settings.device.block_y > 0;
    return leaf_given_ && group_given_ &&
           (!has_blocks(kernels) || (x && (y || kernels == model::TreeKernels::pairs_1d)));
}

void TreeTuning::before(settings::Settings& settings, int64_t particles, bool whole, const char* why_not, bool on_gpu) {
    const model::TreeKernels kernels = tree_kernels(settings, on_gpu);
    const bool moved = kernels != kernels_;
    if (moved && !whole && *why_not == '\0')
        why_not = "no evaluation of all particles came before, here";
    why_not_ = by_ == TreeSizesBy::fixed || all_given(settings, kernels) ? nobody : why_not;
    const model::TreeSizes asked = asked_of(settings, kernels);
    told_ = {asked, {}, ""};
    whole_ = whole && why_not_.empty();
    if (moved && whole) { // the other place's sizes are its own
        kernels_ = kernels;
        particles_ = -1;
    }
    if (!why_not_.empty())
        return;
    buffer_ = settings.device.buffer;
    given_block_ = {settings.device.block_x, settings.device.block_y};
    const auto now = static_cast<double>(particles), then = static_cast<double>(particles_);
    const bool other = asked != asked_ || settings.order != order_ || settings.precision != precision_;
    if (whole && (other || particles_ < 0 || now > changed * then || now < then / changed))
        begin_again(asked, particles);
    dimension_ = settings.dimension;
    order_ = settings.order;
    precision_ = settings.precision;
    if (particles_ < 0 || !(whole || settled_) || now_.leaf == 0)
        return; // nothing but points so far, or nothing chosen yet
    settings.leaf = now_.leaf;
    settings.group = now_.group;
    settings.tuned = settings.tuned || on_gpu;
    if (has_blocks(kernels_)) {
        settings.device.block_x = now_.block.x;
        settings.device.block_y = now_.block.y;
    }
    told_.sizes = now_;
}

/// Whether an evaluation's arrays on the device, without lists, which are made in batches, have room; what
/// has been used has.
bool TreeTuning::fits(const model::TreeSizes& sizes, int64_t room_bytes) const {
    return room_bytes <= 0 || sizes == start_ ||
           footprint_bytes(footprint_shape(particles_, sizes.leaf, sizes.group, order_, false, true)) <=
               room_bytes;
}

/// The model's opinion, from the counts of the start.
void TreeTuning::rank(const Report& report, int64_t room_bytes) {
    model::TreeCounts known;
    known.sizes = start_;
    known.dimension = dimension_;
    known.order = order_;
    known.kernels = kernels_;
    known.gpu = gpu_;
    known.buffer = buffer_ == settings::feed_auto ? first_buffer : buffer_;
    known.least_far_groups = kernels_ == model::TreeKernels::gpu ? static_cast<double>(forces::least_far_groups) : 0;
    known.targets = static_cast<double>(particles_);
    known.groups = static_cast<double>(report.groups);
    known.leaves = static_cast<double>(report.leaves);
    known.pairs = report.pairs;
    known.cells = report.cells;
    known.far_cells = report.far_cells;
    std::vector<model::TreeChoice> list = model::rank_sizes(known, {leaf_given_, group_given_, given_block_});
    const size_t all = list.size();
    std::erase_if(list, [&](const model::TreeChoice& one) { return !fits(one.counts.sizes, room_bytes); });
    contenders_.push_back({{known, model::tree_times(known)}, {}});
    const double most_s = promising * list.front().times.total_s();
    for (const model::TreeChoice& one : list)
        if (one.counts.sizes != start_ && one.times.total_s() <= most_s &&
            contenders_.size() < most_contenders)
            contenders_.push_back({one, {}});
    if (by_ == TreeSizesBy::trial && contenders_.size() > 1)
        return;
    settled_ = true;
    if (list.front().times.total_s() < worth_a_change * contenders_.front().choice.times.total_s()) {
        chosen_ = 1; // the first of the list that is not the start
        now_ = contenders_[1].choice.counts.sizes;
    }
    verdict_ = list.size() == 1 && all > 1 ? "fixed: there is no memory for others"
               : by_ == TreeSizesBy::model ? "by the model"
                                           : "by the model: nothing else comes near";
}

void TreeTuning::next_turn() {
    turn_ = (turn_ + 1) % contenders_.size();
    round_ += turn_ == 0 ? 1 : 0;
    if (round_ == trial_rounds)
        settle();
    now_ = contenders_[settled_ ? chosen_ : turn_].choice.counts.sizes;
}

/// Who was faster in its slowest round than the start in its fastest.
void TreeTuning::settle() {
    settled_ = true;
    const std::vector<double>& start = contenders_.front().seconds;
    double least = *std::min_element(start.begin() + 1, start.end());
    const double start_s = least;
    for (size_t k = 1; k < contenders_.size(); ++k) {
        const std::vector<double>& own = contenders_[k].seconds;
        const double slowest = *std::max_element(own.begin() + 1, own.end());
        if (slowest < least) {
            least = slowest;
            chosen_ = k;
        }
    }
    verdict_ = chosen_ == 0 ? "kept by trial: no other was faster beyond the scatter"
                            : core::format("by trial: %.1f %% faster than %s", 100 * (1 - least / start_s),
                                           words_of(start_).c_str());
}

std::vector<TreeTuning::Contender>::iterator TreeTuning::running() {
    return std::ranges::find(contenders_, told_.sizes,
                             [](const Contender& one) { return one.choice.counts.sizes; });
}

void TreeTuning::no_memory() {
    const auto failed = running();
    if (!whole_ || failed == contenders_.end() || failed == contenders_.begin())
        return;                                // the start's need is not the tuning's doing
    if (settled_ || contenders_.size() == 2) { // nobody else is left
        settled_ = true;
        chosen_ = 0;
        verdict_ = "fixed: there is no memory for " + words_of(told_.sizes);
        now_ = start_;
        return;
    }
    contenders_.erase(failed);
    if (turn_ == contenders_.size()) { // the last of its round
        --turn_;
        next_turn();
    }
    now_ = contenders_[settled_ ? chosen_ : turn_].choice.counts.sizes;
}

void TreeTuning::after(const Report& report, int32_t leaf, int32_t group, int64_t room_bytes) {
    told_.sizes.leaf = leaf;
    told_.sizes.group = group;
    told_.by = why_not_ == nobody  ? nobody
               : !why_not_.empty() ? std::string(nobody) + ": " + why_not_
               : settled_          ? verdict_
                                   : "fixed so far";
    if (!whole_)
        return;
    if (contenders_.empty()) {
        told_.by = "fixed: this evaluation is the first, whose counts the model needs";
        start_ = now_ = told_.sizes;
        rank(report, room_bytes);
        return;
    }
    const auto running = this->running();
    if (running == contenders_.end())
        return; // it had to take others
    const double measured_s = seconds_of(report);
    if (ratio_ == 0 && running->choice.times.total_s() > 0)
        ratio_ = measured_s / running->choice.times.total_s();
    told_.predicted = model::tree_times(running->choice.counts, ratio_);
    if (settled_)
        return;
    const int turns = static_cast<int>(contenders_.size());
    told_.by =
        core::format("trial %d of %d", round_ * turns + static_cast<int>(turn_) + 1, trial_rounds * turns);
    running->seconds.push_back(measured_s);
    next_turn();
}

} // namespace graft::engine
