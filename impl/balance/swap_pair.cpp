// SPDX-License-Identifier: BSD-3-Clause
// See swap_pair.hpp.
#include "balance/swap_pair.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace graft::balance {

namespace {

constexpr double least_gain = 1e-3;   // of the mean weight of a part
constexpr double close_enough = 5e-3; // of the same: below it, locality decides

/// Small objects of one side, those nearest to the other side first.
std::vector<int32_t> nearest_small(const SwapPart& from, const geometry::Box& target) {
    std::vector<std::pair<double, int32_t>> order;
    for (size_t k = 0; k < from.candidates.size(); ++k)
        if (from.candidates[k].is_super == 0 && from.candidates[k].weight > 0)
            order.emplace_back(relative_distance(from.candidates[k].place, target), static_cast<int32_t>(k));
    std::sort(order.begin(), order.end());
    std::vector<int32_t> result;
    result.reserve(order.size());
    for (const auto& [distance, k] : order)
        result.push_back(k);
    return result;
}

/// One way to shift weight from the heavy to the light side.
struct Option {
    std::vector<int32_t> over, back; // of the heavy and of the light side's candidates
    double shifted = 0;
    double distance = 0;
};

class Chooser {
  public:
    Chooser(const SwapPart& heavy, const SwapPart& light, const SwapLimits& limits)
        : heavy_(heavy), light_(light), limits_(limits), wanted_((heavy.weight - light.weight) / 2),
          small_over_(nearest_small(heavy, light.box)), small_back_(nearest_small(light, heavy.box)) {}

    Option best() const {
        Option best;
        if (wanted_ <= least_gain * limits_.mean || heavy_.weight <= limits_.enough)
            return best;
        consider(-1, best);
        for (size_t k = 0; k < heavy_.candidates.size(); ++k)
            if (heavy_.candidates[k].is_super != 0)
                consider(static_cast<int32_t>(k), best);
        return best;
    }

  private:
    /// The super-object `super` (-1: none) goes over, small ones fill up what is wanted.
    void consider(int32_t super, Option& best) const {
        Option option;
        if (super >= 0)
            add(heavy_, super, light_.box, 1, option.over, option);
        if (option.shifted <= wanted_)
            fill(heavy_, small_over_, light_.box, 1, wanted_ - option.shifted, option.over, option);
        else
            fill(light_, small_back_, heavy_.box, -1, option.shifted - wanted_, option.back, option);
        if (fits(option) && better(option, best))
            best = std::move(option);
    }
    void add(const SwapPart& side, int32_t k, const geometry::Box& target, double sign,
             std::vector<int32_t>& list, Option& option) const {
        const Candidate& candidate = side.candidates[static_cast<size_t>(k)];
        list.push_back(k);
        option.shifted += sign * candidate.weight;
        option.distance += relative_distance(candidate.place, target);
    }
    void fill(const SwapPart& side, const std::vector<int32_t>& small, const geometry::Box& target,
              double sign, double room, std::vector<int32_t>& list, Option& option) const {
        for (const int32_t k : small) {
            const double weight = side.candidates[static_cast<size_t>(k)].weight;
            if (weight <= room) {
                add(side, k, target, sign, list, option);
                room -= weight;
            }
        }
    }
    /// Room for `net` more items, within the cap and the message.
    bool has_room(const SwapPart& side, int64_t net) const {
        return net <= 0 || ((limits_.cap <= 0 || side.items + net <= limits_.cap) &&
                            static_cast<int64_t>(side.candidates.size()) + net <= most_candidates);
    }
    bool fits(const Option& option) const {
        const int64_t net =
            static_cast<int64_t>(option.over.size()) - static_cast<int64_t>(option.back.size());
        return has_room(light_, net) && has_room(heavy_, -net);
    }
    /// What is left of half the difference; the wanted shift itself for no shift.
    double residual(const Option& option) const { return std::abs(wanted_ - option.shifted); }
    bool better(const Option& option, const Option& best) const {
        if (residual(option) > wanted_ - least_gain * limits_.mean)
            return false;
        const double close = close_enough * limits_.mean;
        const double a = std::max(residual(option), close), b = std::max(residual(best), close);
        return a < b ||
               (a == b && option.distance < best.distance && !(best.over.empty() && best.back.empty()));
    }

    const SwapPart& heavy_;
    const SwapPart& light_;
    SwapLimits limits_;
    double wanted_;
    std::vector<int32_t> small_over_, small_back_;
};

/// Takes the candidates `which` (ascending) out of `from`; those of another side are added by key.
std::vector<Candidate> take(SwapPart& from, const std::vector<int32_t>& which) {
    std::vector<Candidate> taken, kept;
    size_t next = 0;
    for (size_t k = 0; k < from.candidates.size(); ++k) {
        const bool goes = next < which.size() && static_cast<size_t>(which[next]) == k;
        (goes ? taken : kept).push_back(from.candidates[k]);
        next += goes ? 1 : 0;
    }
    for (const Candidate& candidate : taken)
        from.weight -= candidate.weight;
    from.items -= static_cast<int64_t>(taken.size());
    from.candidates = std::move(kept);
    return taken;
}

void give(SwapPart& to, const std::vector<Candidate>& taken) {
    for (const Candidate& candidate : taken)
        to.weight += candidate.weight;
    to.items += static_cast<int64_t>(taken.size());
    to.candidates.insert(to.candidates.end(), taken.begin(), taken.end());
    std::sort(to.candidates.begin(), to.candidates.end(), key_less);
}

} // namespace

bool key_less(const Candidate& a, const Candidate& b) {
    return a.id != b.id ? a.id < b.id : a.home != b.home ? a.home < b.home : a.index < b.index;
}

double relative_distance(const double (&place)[3], const geometry::Box& box) {
    if (box.empty())
        return 0;
    double square = 0;
    for (int a = 0; a < 3; ++a) {
        const double out = std::max({box.lower[a] - place[a], place[a] - box.upper[a], 0.0});
        square += out * out;
    }
    const double edge = box.longest_edge();
    return std::sqrt(square) / (edge > 0 ? edge : 1);
}

Swap choose_swap(const SwapPart& left, const SwapPart& right, const SwapLimits& limits) {
    const bool left_heavy = left.weight >= right.weight;
    Option option = left_heavy ? Chooser(left, right, limits).best() : Chooser(right, left, limits).best();
    std::sort(option.over.begin(), option.over.end());
    std::sort(option.back.begin(), option.back.end());
    return left_heavy ? Swap{std::move(option.over), std::move(option.back)}
                      : Swap{std::move(option.back), std::move(option.over)};
}

void apply_swap(const Swap& swap, SwapPart& left, SwapPart& right) {
    const std::vector<Candidate> to_right = take(left, swap.to_right), to_left = take(right, swap.to_left);
    give(right, to_right);
    give(left, to_left);
}

} // namespace graft::balance
