// SPDX-License-Identifier: BSD-3-Clause
// See group_cut.hpp.
#include "decompose/halving/group_cut.hpp"

#include "backend/step_count.hpp"
#include "decompose/orb/bins.hpp"
#include "decompose/orb/tree_gather.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

namespace graft::decompose {
namespace {

constexpr int header = 2;    // ranks that have failed, that are crowded
constexpr int isolation = 2; // numbers of a bin: image, id
constexpr int lane_bits = 21, lanes_of_weight = 3;
constexpr uint64_t lane_mask = (uint64_t{1} << lane_bits) - 1;
constexpr int default_words = 256; // 2 KiB

/// A point of the best bin, on its way to the leader.
struct Near {
    uint64_t image;
    int64_t id;
    uint64_t weight;
};

/// The leader's word.
struct Verdict {
    Border border;
    int64_t count = 0;
    uint64_t weight_low = 0, weight_high = 0;
    int64_t last_id = 0;
    int64_t heap_goes_on = 0; // the tie is the next id of the heap after last_id
};

template <typename AnyItem>
class Search {
  public:
    Search(comm::Communicator& group, const AnyItem* items, int64_t n, const GroupQuestion& question,
           int32_t* candidates, uint64_t* sums);

    GroupAnswer run(bool failed, bool crowded);

  private:
    const AnyItem& candidate(int64_t i) const { return all_ ? items_[i] : items_[candidates_[i]]; }
    int bins_for(int64_t points);
    void bin();
    Wide weight_of_bin(int b) const;
    void choose();
    bool accept(GroupAnswer& answer) const;
    void narrow();
    bool ask_range();
    GroupAnswer isolated();
    GroupAnswer collect();
    GroupAnswer conclude(const Verdict& verdict) const;
    Verdict decide(std::vector<Near>& near) const;
    int64_t next_in_heap(int64_t id) const;
    GroupAnswer cut_beside_heap() const;

    comm::Communicator& group_;
    const AnyItem* items_;
    const GroupQuestion& question_;
    int32_t* candidates_;
    uint64_t* sums_;
    int lanes_;            // of a weight
    bool isolate_ = false; // bins also add up images and ids: what a bin with one point then tells outright
    Binning binning_;

    bool all_ = true;   // every point is a candidate still
    int64_t local_;     // candidates here
    int64_t n_;         // points here
    int64_t global_;    // candidates in the group
    int64_t below_ = 0; // points left of all candidates
    Wide below_weight_ = 0;
    bool in_heap_ = false; // all candidates have one coordinate
    uint64_t heap_image_ = 0;
    int64_t heap_begin_ = 0, heap_end_ = 0; // places of the heap in the order

    int chosen_ = 0; // the bin with the crossing point, what is left of it, what it holds
    int64_t before_ = 0, inside_ = 0;
    Wide before_weight_ = 0, inside_weight_ = 0;
};

template <typename AnyItem>
Search<AnyItem>::Search(comm::Communicator& group, const AnyItem* items, int64_t n,
                        const GroupQuestion& question, int32_t* candidates, uint64_t* sums)
    : group_(group), items_(items), question_(question), candidates_(candidates), sums_(sums),
      lanes_(question.unit                     ? 0
             : question.goal.weight >> 63 == 0 ? 1
                                               : lanes_of_weight),
      local_(n), n_(n), global_(question.goal.count) {
    const int bins = bins_for(global_);
    if constexpr (std::is_same_v<AnyItem, Item>)
        binning_ = Binning::between(question.lower, question.upper, question.axis, bins);
    else
        binning_ = Binning::whole(Binning::Scale::image, question.first_key, question.last_key, 0, bins);
}

/// Bins for so many points, and whether they isolate: with few points a bin, one more round at most ends it.
template <typename AnyItem>
int Search<AnyItem>::bins_for(int64_t points) {
    const int isolating = (default_words - header) / (1 + lanes_ + isolation);
    isolate_ = points <= 4 * isolating;
    const int fitting = isolate_ ? isolating : (default_words - header) / (1 + lanes_);
    return std::max(2, question_.bins > 0 ? question_.bins : fitting);
}

/// Counts and weights of the local candidates by bin, then of all.
template <typename AnyItem>
void Search<AnyItem>::bin() {
    const int bins = binning_.bins, words = 1 + lanes_ + (isolate_ ? isolation : 0);
    std::fill(sums_ + header, sums_ + header + words * bins, 0);
    uint64_t* count = sums_ + header;
    uint64_t* weight = count + bins;
    uint64_t* place = weight + lanes_ * bins;
    for (int64_t i = 0; i < local_; ++i) {
        const AnyItem& item = candidate(i);
        const int b = binning_(item);
        ++count[b];
        if (lanes_ == 1)
            weight[b] += item.weight;
        else
            for (int lane = 0; lane < lanes_; ++lane)
                weight[lane * bins + b] += item.weight >> (lane * lane_bits) & lane_mask;
        if (isolate_) {
            place[b] += item.image(question_.axis);
            place[bins + b] += static_cast<uint64_t>(item.id);
        }
    }
    backend::count_work(local_ + bins);
    group_.allreduce(sums_, header + words * bins, comm::Operation::sum);
}

template <typename AnyItem>
Wide Search<AnyItem>::weight_of_bin(int b) const {
    const uint64_t* count = sums_ + header;
    if (lanes_ == 0)
        return count[b];
    Wide weight = 0;
    for (int lane = lanes_; lane > 0; --lane)
        weight = (weight << lane_bits) + count[lane * binning_.bins + b];
    return weight;
}

/// The first bin after which the goal is past: the crossing point is in it.
template <typename AnyItem>
void Search<AnyItem>::choose() {
    before_ = below_;
    before_weight_ = below_weight_;
    for (chosen_ = 0;; ++chosen_) {
        inside_ = static_cast<int64_t>(sums_[header + chosen_]);
        inside_weight_ = weight_of_bin(chosen_);
        const bool last = chosen_ + 1 == binning_.bins;
        if (last || (inside_ > 0 && question_.goal.past(before_ + inside_, before_weight_ + inside_weight_)))
            return;
        before_ += inside_;
        before_weight_ += inside_weight_;
    }
}

/// A border of the chosen bin is good enough, and has candidates on both sides: they hold it in its place.
template <typename AnyItem>
bool Search<AnyItem>::accept(GroupAnswer& answer) const {
    if (question_.slack == 0 || in_heap_)
        return false;
    const CutGoal& goal = question_.goal;
    const int64_t after = before_ + inside_;
    const Wide after_weight = before_weight_ + inside_weight_;
    const bool at_lower = before_ > below_ && goal.good_enough(before_, before_weight_, question_.slack);
    const bool at_upper = after < below_ + global_ && goal.good_enough(after, after_weight, question_.slack);
    if (!at_lower && !at_upper)
        return false;
    const bool upper =
        at_upper && (!at_lower || goal.error(after, after_weight) < goal.error(before_, before_weight_));
    answer.border = binning_.border(upper ? chosen_ + 1 : chosen_);
    answer.count = upper ? after : before_;
    answer.weight = upper ? after_weight : before_weight_;
    return true;
}

/// Only the chosen bin's points stay candidates.
template <typename AnyItem>
void Search<AnyItem>::narrow() {
    int64_t kept = 0;
    for (int64_t i = 0; i < local_; ++i) {
        const int32_t index = all_ ? static_cast<int32_t>(i) : candidates_[i];
        if (binning_(items_[index]) == chosen_)
            candidates_[kept++] = index;
    }
    backend::count_work(local_);
    all_ = false;
    local_ = kept;
    global_ = inside_;
    below_ = before_;
    below_weight_ = before_weight_;
}

/// Sets the binning to the exact range of the candidates: their coordinates, or ids when those are all one.
/// False: not even the ids tell them apart.
template <typename AnyItem>
bool Search<AnyItem>::ask_range() {
    const auto range_of = [&](auto&& image_of, uint64_t& low, uint64_t& high) {
        uint64_t range[2] = {UINT64_MAX, UINT64_MAX};
        for (int64_t i = 0; i < local_; ++i) {
            const uint64_t image = image_of(candidate(i));
            range[0] = std::min(range[0], image);
            range[1] = std::min(range[1], ~image);
        }
        backend::count_work(local_);
        group_.allreduce(range, 2, comm::Operation::min);
        low = range[0];
        high = ~range[1];
    };
    uint64_t low = 0, high = 0;
    if (!in_heap_) {
        range_of([&](const AnyItem& item) { return item.image(question_.axis); }, low, high);
        if (low < high) {
            binning_ = Binning::whole(Binning::Scale::image, low, high, question_.axis, bins_for(global_));
            return true;
        }
        in_heap_ = true;
        heap_image_ = low;
        heap_begin_ = below_;
        heap_end_ = below_ + global_;
    }
    range_of([](const AnyItem& item) { return ordered_id(item.id); }, low, high);
    binning_ = Binning::whole(Binning::Scale::id, low, high, question_.axis, bins_for(global_));
    return low < high;
}

template <typename AnyItem>
int64_t Search<AnyItem>::next_in_heap(int64_t id) const {
    uint64_t next = UINT64_MAX;
    for (int64_t i = 0; i < n_; ++i)
        if (items_[i].image(question_.axis) == heap_image_ && items_[i].id > id)
            next = std::min(next, ordered_id(items_[i].id));
    group_.allreduce(&next, 1, comm::Operation::min);
    return from_ordered_id(next);
}

/// The crossing point among all candidates, and the cut beside it.
template <typename AnyItem>
Verdict Search<AnyItem>::decide(std::vector<Near>& near) const {
    const CutGoal& goal = question_.goal;
    std::sort(near.begin(), near.end(), [](const Near& a, const Near& b) {
        return a.image < b.image || (a.image == b.image && a.id < b.id);
    });
    backend::count_work(backend::sort_work(global_));
    Wide weight = below_weight_;
    size_t c = 0;
    while (c + 1 < near.size() && !goal.past(below_ + static_cast<int64_t>(c) + 1, weight + near[c].weight))
        weight += near[c++].weight;
    const Near& at = near[c];
    const int64_t place = below_ + static_cast<int64_t>(c);
    Verdict verdict;
    const bool takes = goal.takes(place + 1, weight, weight + at.weight);
    if (!takes) {
        const bool heap_split = (c > 0 && near[c - 1].image == at.image) || (in_heap_ && place > heap_begin_);
        verdict.border = {at.image, heap_split ? at.id : lowest_id};
    } else if (c + 1 < near.size() && near[c + 1].image == at.image) {
        verdict.border = {at.image, near[c + 1].id};
    } else {
        verdict.heap_goes_on = in_heap_ && place + 1 < heap_end_;
        verdict.border = {at.image + (verdict.heap_goes_on != 0 ? 0 : 1), lowest_id};
    }
    weight += takes ? at.weight : 0;
    verdict.count = place + (takes ? 1 : 0);
    verdict.weight_low = static_cast<uint64_t>(weight);
    verdict.weight_high = static_cast<uint64_t>(weight >> 64);
    verdict.last_id = at.id;
    return verdict;
}

template <typename AnyItem>
GroupAnswer Search<AnyItem>::collect() {
    TreeGather tree;
    tree.plan(group_, local_);
    std::vector<Near> near(static_cast<size_t>(tree.subtree_items()));
    for (int64_t i = 0; i < local_; ++i) {
        const AnyItem& item = candidate(i);
        near[static_cast<size_t>(i)] = {item.image(question_.axis), item.id, item.weight};
    }
    tree.gather(group_, near.data(), sizeof(Near));
    Verdict verdict;
    if (group_.rank() == 0)
        verdict = decide(near);
    group_.broadcast(&verdict, 1, 0);
    return conclude(verdict);
}

/// The chosen bin has one point: the sums are its place.
template <typename AnyItem>
GroupAnswer Search<AnyItem>::isolated() {
    const uint64_t* place = sums_ + header + (1 + lanes_) * binning_.bins + chosen_;
    std::vector<Near> near{
        {place[0], static_cast<int64_t>(place[binning_.bins]), static_cast<uint64_t>(inside_weight_)}};
    below_ = before_;
    below_weight_ = before_weight_;
    global_ = 1;
    return conclude(decide(near));
}

/// Collective where a heap goes on behind the crossing point.
template <typename AnyItem>
GroupAnswer Search<AnyItem>::conclude(const Verdict& verdict) const {
    GroupAnswer answer;
    answer.border = verdict.border;
    if (verdict.heap_goes_on != 0)
        answer.border.tie = next_in_heap(verdict.last_id);
    answer.count = verdict.count;
    answer.weight = static_cast<Wide>(verdict.weight_high) << 64 | verdict.weight_low;
    return answer;
}

/// All candidates have one coordinate and one id (the host broke its word): they stay together, on the side
/// that is nearer to the goal.
template <typename AnyItem>
GroupAnswer Search<AnyItem>::cut_beside_heap() const {
    const CutGoal& goal = question_.goal;
    const int64_t after = below_ + global_;
    const Wide after_weight = below_weight_ + inside_weight_;
    const bool left =
        after <= goal.most && goal.error(after, after_weight) < goal.error(below_, below_weight_);
    const int64_t id = from_ordered_id(binning_.low);
    GroupAnswer answer;
    answer.border = {heap_image_, left ? id + 1 : id};
    answer.count = left ? after : below_;
    answer.weight = left ? after_weight : below_weight_;
    return answer;
}

template <typename AnyItem>
GroupAnswer Search<AnyItem>::run(bool failed, bool crowded) {
    GroupAnswer answer;
    sums_[0] = failed;
    sums_[1] = crowded;
    for (int64_t rounds = 1;; ++rounds) {
        bin();
        answer.rounds = rounds;
        answer.failed = sums_[0] > 0;
        answer.crowded = sums_[1] > 0;
        if (answer.failed || answer.crowded)
            return answer;
        choose();
        if (accept(answer))
            return answer;
        if (isolate_ && inside_ == 1) {
            answer = isolated();
            answer.rounds = rounds;
            return answer;
        }
        const bool narrower = inside_ < global_;
        narrow();
        if (global_ <= question_.few)
            break;
        const bool finest = binning_.scale != Binning::Scale::linear && binning_.shift == 0;
        if (narrower && !finest)
            binning_ = binning_.inside(chosen_, bins_for(global_));
        else if (!ask_range())
            return cut_beside_heap();
    }
    const int64_t rounds = answer.rounds;
    answer = collect();
    answer.rounds = rounds;
    return answer;
}

} // namespace

template <typename AnyItem>
void GroupCut<AnyItem>::reserve_bins(int bins) {
    sums_.resize(std::max<int64_t>(default_words,
                                   header + int64_t{std::max(2, bins)} * (1 + lanes_of_weight + isolation)));
}

template <typename AnyItem>
GroupAnswer GroupCut<AnyItem>::find(comm::Communicator& group, const AnyItem* items, int64_t n,
                                    const GroupQuestion& question, bool failed, bool crowded) {
    return Search<AnyItem>(group, items, n, question, candidates_.data(), sums_.data()).run(failed, crowded);
}

template class GroupCut<Item>;
template class GroupCut<KeyItem>;

} // namespace graft::decompose
