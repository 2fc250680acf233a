// SPDX-License-Identifier: BSD-3-Clause
// The search for one cut, see cut_search.hpp.
#include "decompose/orb/cut_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace graft::decompose {
namespace {

/// The wanted share of the points inside to stand left of the cut, in weight.
double wanted_share(const Search& search) {
    const CutGoal& goal = search.goal;
    const double want = to_double(goal.weight) * goal.parts_left / goal.parts;
    const bool counts = goal.by_count;
    const double base = counts ? static_cast<double>(search.base.count) : to_double(search.base.weight);
    const double inside = counts ? static_cast<double>(search.inside.count) : to_double(search.inside.weight);
    return inside > 0 ? std::clamp((want - base) / inside, 0.0, 1.0) : 0.5;
}

/// Keys between which the cut stands, very likely: 3.5 standard deviations of the sample either way.
void set_bracket(const Search& search, std::vector<SamplePoint>& sample, uint32_t& first, uint32_t& last) {
    std::sort(sample.begin(), sample.end(),
              [](const SamplePoint& a, const SamplePoint& b) { return a.key < b.key; });
    double sum = 0, squares = 0;
    for (const SamplePoint& point : sample) {
        sum += point.share;
        squares += static_cast<double>(point.share) * point.share;
    }
    const double share = wanted_share(search), size = squares > 0 ? sum * sum / squares : 1;
    const double scatter = 3.5 * std::sqrt(std::max(share * (1 - share), 0.25 / size) / size) + 1 / size;
    first = search.low;
    last = search.high;
    double passed = 0;
    bool closed = false;
    for (const SamplePoint& point : sample) {
        if (passed <= (share - scatter) * sum)
            first = std::max(point.key, search.low);
        passed += point.share;
        if (!closed && passed >= (share + scatter) * sum && point.share > 0) {
            last = std::min(point.key, search.high);
            closed = true;
        }
    }
    if (share - scatter <= 0)
        first = search.low;
}

void plan_bisection(Search& search) {
    search.first = search.low + (search.high - search.low) / 2 + 1;
    search.last = search.first - 1;
    search.bins = 0;
    search.collect = false;
}

void settle(const FinderSettings& settings, Search& search) {
    if (search.low == search.high || search.inside.count <= settings.few)
        search.stage = Stage::few;
}

} // namespace

void set_bins(Search& search, uint32_t first, uint32_t last, int32_t most_bins) {
    search.first = first;
    search.last = last;
    const uint32_t width = last - first;
    search.shift = std::max(0, static_cast<int>(std::bit_width(width)) -
                                   static_cast<int>(std::bit_width(static_cast<uint32_t>(most_bins))) + 1);
    search.bins = static_cast<int32_t>((width >> search.shift) + 1);
}

bool wants_sample(const FinderSettings& settings, const Search& search) {
    return settings.finder == CutFinder::sampled && !search.listed && search.missed < 2 &&
           search.inside.count > 256;
}

void plan_pass(const FinderSettings& settings, std::vector<SamplePoint>& sample, Search& search) {
    if (settings.finder == CutFinder::bisection) {
        plan_bisection(search);
        return;
    }
    uint32_t first = search.low, last = search.high;
    if (!sample.empty())
        set_bracket(search, sample, first, last);
    search.collect = !sample.empty() || search.inside.count < search.span_count / 2;
    // More bins than points tell no more; many points are worth many bins.
    const int64_t enough =
        std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(search.inside.count, 16)) / 8);
    const int64_t most = std::min<int64_t>(settings.most_bins, std::max<int64_t>(enough, 16));
    set_bins(search, first, last, static_cast<int32_t>(most));
}

namespace {

/// Ends the search at a key boundary when the cut there is good enough.
bool take_boundary(const FinderSettings& settings, uint32_t key, const Amount& left, const KeyFrame& frame,
                   double lower, double upper, Search& search) {
    if (settings.slack == 0 || !search.goal.good_enough(left.count, left.weight, settings.slack))
        return false;
    if (search.stage == Stage::found && search.goal.error(left.count, left.weight) >=
                                            search.goal.error(search.left.count, search.left.weight))
        return true;
    search.stage = Stage::found;
    search.cut = {frame.first_with(key, lower, upper), lowest_id};
    search.left = left;
    return true;
}

/// The crossing point has a key >= first: puts low ... high around its bin, or behind the last one (false).
bool find_bin(const Amount* bins, Amount before, Search& search) {
    const Amount end = search.base + search.inside;
    for (int32_t bin = 0; bin < search.bins; ++bin) {
        const Amount after = before + bins[bin];
        if (search.goal.past(after.count, after.weight)) {
            const uint64_t low = uint64_t{search.first} + (static_cast<uint64_t>(bin) << search.shift);
            search.low = static_cast<uint32_t>(low);
            search.high = static_cast<uint32_t>(
                std::min<uint64_t>(search.last, low + (uint64_t{1} << search.shift) - 1));
            search.base = before;
            search.inside = bins[bin];
            return true;
        }
        before = after;
    }
    search.low = search.last + 1;
    search.base = before;
    search.inside = end - before;
    return false;
}

/// After a pass that made a list: go on with it, or with all points of the cell when the crossing point is
/// not on it.
void choose_span(const Amount* bins, const Amount& at_first, bool on_list, Search& search) {
    search.listed = on_list;
    search.missed += on_list ? 0 : 1;
    search.span_base = on_list ? at_first : Amount{};
    search.span_count = on_list ? 0 : search.goal.count;
    for (int32_t bin = 0; on_list && bin < search.bins; ++bin)
        search.span_count += bins[bin].count;
}

} // namespace

void narrow(const FinderSettings& settings, const Amount* counters, const KeyFrame& frame, double lower,
            double upper, Search& search) {
    ++search.rounds;
    const uint32_t end_key = search.high;
    const Amount at_first = search.span_base + counters[0]; // points below `first`
    bool hit = false;
    if (search.goal.past(at_first.count, at_first.weight)) { // the crossing point is one of them
        search.high = search.first - 1;
        search.inside = at_first - search.base;
    } else {
        hit = find_bin(counters + 1, at_first, search);
    }
    if (search.collect)
        choose_span(counters + 1, at_first, hit, search);
    settle(settings, search);
    if (search.low > 0)
        take_boundary(settings, search.low, search.base, frame, lower, upper, search);
    if (search.high < end_key)
        take_boundary(settings, search.high + 1, search.base + search.inside, frame, lower, upper, search);
}

} // namespace graft::decompose
