// See tree_tuning.hpp.
#include "pipeline/tree_tuning.hpp"

#include "core/error.hpp"
#include "pipeline/report.hpp"

#include <algorithm>

namespace graft::pipeline {

namespace {

constexpr size_t most_contenders = 4;  // with the start
constexpr double promising = 1.1;      // times the least predicted time
constexpr int trial_rounds = 5;        // the first touches new memory and does not count; by chance
                                       // alone the other four all win in 1 of 70 trials
constexpr double worth_a_change = 0.9; // of the start's predicted time: the model's own error is no less
constexpr double changed = 1.5;        // times as many particles, or as few

double seconds_of(const Report& report) {
    const Report::Times& t = report.time_s;
    return t.sort + t.tree + t.moments + t.lists + t.forces;
}

} // namespace

void TreeTuning::set(TreeSizesBy by, bool leaf_given, bool group_given) {
    by_ = leaf_given && group_given ? TreeSizesBy::fixed : by;
    leaf_given_ = leaf_given, group_given_ = group_given;
    particles_ = -1;
}

void TreeTuning::begin_again(model::TreeSizes start, int64_t particles) {
    start_ = now_ = start;
    particles_ = particles;
    contenders_.clear();
    chosen_ = turn_ = 0, round_ = 0, ratio_ = 0;
    settled_ = false;
    verdict_.clear();
}

void TreeTuning::before(Settings& settings, int64_t particles, bool whole, const char* why_not) {
    why_not_ = by_ == TreeSizesBy::fixed ? "fixed" : why_not;
    told_ = {{settings.leaf, settings.group}, {}, ""};
    whole_ = whole && why_not_.empty();
    if (!why_not_.empty())
        return;
    const model::TreeSizes start{settings.leaf, settings.group};
    const auto now = static_cast<double>(particles), then = static_cast<double>(particles_);
    if (whole && (start != start_ || settings.order != order_ || particles_ < 0 || now > changed * then ||
                  now < then / changed))
        begin_again(start, particles);
    dimension_ = settings.dimension, order_ = settings.order;
    if (particles_ < 0)
        return; // nothing but points so far
    const model::TreeSizes sizes = whole || settled_ ? now_ : start_;
    settings.leaf = sizes.leaf, settings.group = sizes.group;
    told_.sizes = sizes;
}

/// The model's opinion, from the counts of the start.
void TreeTuning::rank(const Report& report) {
    model::TreeCounts known;
    known.sizes = start_, known.dimension = dimension_, known.order = order_;
    known.targets = static_cast<double>(particles_);
    known.groups = static_cast<double>(report.groups), known.leaves = static_cast<double>(report.leaves);
    known.pairs = report.pairs, known.cells = report.cells, known.far_cells = report.far_cells;
    const std::vector<model::TreeChoice> list = model::rank_sizes(known, leaf_given_, group_given_);
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
    verdict_ = by_ == TreeSizesBy::model ? "by the model" : "by the model: nothing else comes near";
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
        if (slowest < least)
            least = slowest, chosen_ = k;
    }
    verdict_ = chosen_ == 0 ? "kept by trial: no other was faster beyond the scatter"
                            : core::format("by trial: %.1f %% faster than leaf %d, group %d",
                                           100 * (1 - least / start_s), start_.leaf, start_.group);
}

void TreeTuning::after(const Report& report) {
    told_.by = by_ == TreeSizesBy::fixed ? "fixed"
               : !why_not_.empty()       ? "fixed: " + why_not_
               : settled_                ? verdict_
                                         : "fixed so far";
    if (!whole_)
        return;
    if (contenders_.empty()) {
        told_.by = "fixed: this evaluation is the first, whose counts the model needs";
        rank(report);
        return;
    }
    const auto running = std::ranges::find(contenders_, told_.sizes,
                                           [](const Contender& one) { return one.choice.counts.sizes; });
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

} // namespace graft::pipeline
