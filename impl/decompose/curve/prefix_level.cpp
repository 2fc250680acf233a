// SPDX-License-Identifier: BSD-3-Clause
// The prefix partition by searching the borders of all parts together. See prefix_steps.hpp.
//
// A place is 128 bits, key then id. Of border q (where part q begins) is known that its crossing point, the
// first whose interval [s, s + w) reaches q W / P, lies in [low, high], with `below` before it and `inside`
// in it. A round divides all open intervals evenly and adds up what lies before each dividing place, one
// reduction for all borders; local points are sorted, so a rank answers by binary searches. An interval with
// one point ends the search: the border is before or behind that point, as prefix_rule.hpp has it. With a cap
// the numbers of points before the borders give way, and those that move are searched again, by number.
#include "backend/step_count.hpp"
#include "decompose/curve/prefix_steps.hpp"

#include <algorithm>

namespace graft::decompose {
namespace {

constexpr int64_t most_dividers = 1 << 14; // of all borders in a round
constexpr int lanes = 3, lane_bits = 42;   // of a weight in a reduction; see weights.hpp
constexpr uint64_t lane_mask = (uint64_t{1} << lane_bits) - 1;

struct Search {
    int64_t wanted_count = -1; // >= 0: the point with so many before it, else the crossing point
    Wide low = 0, high = 0;
    PrefixSum below, inside;
    bool behind = false; // the border is behind the one point inside

    bool open() const { return inside.count > 1 && low < high; }
    Wide border() const { return behind ? high + 1 : low; }
    PrefixSum before() const { return behind ? below + inside : below; }
};

/// This rank's points in order, and sums over them.
class Sorted {
  public:
    Sorted(const KeyItem* items, const int32_t* order, int64_t n)
        : places_(static_cast<size_t>(n)), sums_(1) {
        sums_.reserve(static_cast<size_t>(n) + 1);
        for (int64_t k = 0; k < n; ++k) {
            const KeyItem& item = items[order[k]];
            places_[static_cast<size_t>(k)] = static_cast<Wide>(item.key) << 64 | ordered_id(item.id);
            sums_.push_back(sums_.back() + item.weight);
        }
    }
    const std::vector<Wide>& places() const { return places_; }
    /// What lies before a place.
    PrefixSum before(Wide place) const {
        const auto k = std::lower_bound(places_.begin(), places_.end(), place) - places_.begin();
        return {sums_[static_cast<size_t>(k)], k};
    }

  private:
    std::vector<Wide> places_, sums_;
};

class BorderSearch {
  public:
    BorderSearch(const PrefixRule& rule, Wide last_place)
        : rule_(rule), searches_(static_cast<size_t>(rule.parts)) {
        for (Search& search : searches_) {
            search.high = last_place;
            search.inside = {rule.weight, rule.count};
        }
    }
    const std::vector<Search>& searches() const { return searches_; }

    /// Collective.
    void run(comm::Communicator& comm, const Sorted& sorted, int64_t& rounds);
    /// Holds the cap: true when borders moved and have to be searched again.
    bool hold_cap(Wide last_place);

  private:
    int64_t plan();
    void add_up(const Sorted& sorted);
    void narrow();
    void settle();
    bool reached(size_t q, const PrefixSum& end) const {
        const int64_t wanted = searches_[q].wanted_count;
        return wanted >= 0 ? end.count > wanted
                           : end.count > 0 && end.weight * static_cast<Wide>(rule_.parts) >= rule_.weight * q;
    }
    Wide divider(const Search& search, int64_t d) const {
        return search.low +
               (search.high - search.low) / static_cast<Wide>(dividers_ + 1) * static_cast<Wide>(d) +
               static_cast<Wide>(d);
    }

    PrefixRule rule_;
    std::vector<Search> searches_; // [0] is not searched for: part 0 begins at the first place
    int64_t dividers_ = 0;         // of an open interval
    std::vector<size_t> open_;
    std::vector<uint64_t> sums_;
};

int64_t BorderSearch::plan() {
    open_.clear();
    for (size_t q = 1; q < searches_.size(); ++q)
        if (searches_[q].open())
            open_.push_back(q);
    const auto open = static_cast<int64_t>(open_.size());
    dividers_ = open > 0 ? std::clamp<int64_t>(most_dividers / open, 1, 63) : 0;
    sums_.assign(static_cast<size_t>((1 + lanes) * dividers_ * open), 0);
    return open;
}

/// Local points before each divider; those beyond the interval stand for its end and are left out by
/// narrow().
void BorderSearch::add_up(const Sorted& sorted) {
    uint64_t* out = sums_.data();
    for (const size_t q : open_)
        for (int64_t d = 1; d <= dividers_; ++d, out += 1 + lanes) {
            const PrefixSum before = sorted.before(std::min(divider(searches_[q], d), searches_[q].high));
            out[0] = static_cast<uint64_t>(before.count);
            for (int lane = 0; lane < lanes; ++lane)
                out[1 + lane] = static_cast<uint64_t>(before.weight >> (lane * lane_bits)) & lane_mask;
        }
    backend::count_work(static_cast<int64_t>(open_.size()) * dividers_);
}

void BorderSearch::narrow() {
    const uint64_t* in = sums_.data();
    for (const size_t q : open_) {
        Search& search = searches_[q];
        const Wide high = search.high;
        PrefixSum end = search.below + search.inside, begin = search.below;
        Wide first = search.low, last = high;
        bool found = false;
        for (int64_t d = 1; d <= dividers_; ++d, in += 1 + lanes) {
            PrefixSum before{0, static_cast<int64_t>(in[0])};
            for (int lane = 0; lane < lanes; ++lane)
                before.weight += static_cast<Wide>(in[1 + lane]) << (lane * lane_bits);
            const Wide at = std::min(divider(search, d), high);
            if (found)
                continue;
            if (reached(q, before)) {
                last = at - 1;
                end = before;
                found = true;
            } else {
                first = at;
                begin = before;
            }
        }
        search.low = first;
        search.high = last;
        search.below = begin;
        search.inside = {end.weight - begin.weight, end.count - begin.count};
    }
}

/// The border beside the one point (or one place) of each interval.
void BorderSearch::settle() {
    for (size_t q = 1; q < searches_.size(); ++q) {
        Search& search = searches_[q];
        const Wide twice = (2 * search.below.weight + search.inside.weight) * static_cast<Wide>(rule_.parts);
        search.behind = search.wanted_count < 0 && twice < 2 * rule_.weight * q;
    }
}

void BorderSearch::run(comm::Communicator& comm, const Sorted& sorted, int64_t& rounds) {
    for (;; ++rounds) {
        int64_t open = 0;
        comm.together([&] { open = plan(); });
        if (open == 0)
            break;
        add_up(sorted);
        comm.allreduce(sums_.data(), static_cast<int64_t>(sums_.size()), comm::Operation::sum);
        narrow();
    }
    settle();
}

bool BorderSearch::hold_cap(Wide last_place) {
    bool moved = false;
    int64_t last = 0;
    for (size_t q = 1; rule_.cap > 0 && q < searches_.size(); ++q) {
        Search& search = searches_[q];
        const int64_t plain = search.before().count;
        const int64_t behind = rule_.count - rule_.cap * (rule_.parts - static_cast<int64_t>(q));
        const int64_t held = std::min(std::max(plain, behind), last + rule_.cap);
        if (held != plain && held < rule_.count) {
            search = Search{held, 0, last_place, {}, {rule_.weight, rule_.count}, false};
            moved = true;
        } else if (held != plain) { // behind everything
            search = Search{held, last_place, last_place, {rule_.weight, rule_.count}, {}, true};
        }
        last = held;
    }
    return moved;
}

/// What lies in each part, from the borders alone.
void heaviest_part(const std::vector<Search>& searches, const PrefixRule& rule, double& count,
                   double& weight) {
    count = weight = 0;
    PrefixSum begin;
    for (size_t q = 1; q <= searches.size(); ++q) {
        const PrefixSum end = q < searches.size() ? searches[q].before() : PrefixSum{rule.weight, rule.count};
        count = std::max(count, static_cast<double>(end.count - begin.count));
        weight = std::max(weight, to_double(end.weight - begin.weight));
        begin = end;
    }
}

void assign(const std::vector<Search>& searches, const std::vector<Wide>& places, const int32_t* order,
            int32_t* owner) {
    size_t part = 0;
    for (size_t k = 0; k < places.size(); ++k) {
        while (part + 1 < searches.size() && searches[part + 1].border() <= places[k])
            ++part;
        owner[order[k]] = static_cast<int32_t>(part);
    }
}

std::vector<Splitter> to_splitters(const std::vector<Search>& searches) {
    std::vector<Splitter> splitters(1, {0, lowest_id, 0});
    for (size_t q = 1; q < searches.size(); ++q) {
        const Wide place = searches[q].border();
        splitters.push_back({static_cast<uint64_t>(place >> 64),
                             from_ordered_id(static_cast<uint64_t>(place)), static_cast<int64_t>(q)});
    }
    return splitters;
}

} // namespace

void PrefixStrategy::State::run_level(const Problem& problem, Result& result) {
    comm::Communicator& comm = problem.comm;
    const int64_t n = problem.points.n;
    const CurveFrame frame(problem.box, problem.options.dimension, problem.options.curve);
    const Wide last_place = (static_cast<Wide>(frame.last_key()) << 64) + UINT64_MAX;
    std::unique_ptr<Sorted> sorted;
    std::unique_ptr<BorderSearch> search;
    comm.together([&] {
        result.owner.resize(n);
        gathered.resize(n);
        make_items(problem, gathered.data());
        order.sort(problem.executor, gathered.data(), n);
        sorted = std::make_unique<Sorted>(gathered.data(), order.order(), n);
        search = std::make_unique<BorderSearch>(rule(problem), last_place);
    });
    if (problem.count > 0) {
        search->run(comm, *sorted, rounds);
        if (search->hold_cap(last_place))
            search->run(comm, *sorted, rounds);
    }
    cuts = problem.options.parts - 1;
    passes = 2;
    heaviest_part(search->searches(), rule(problem), count_max, weight_max);
    const std::exception_ptr error = caught([&] {
        assign(search->searches(), sorted->places(), order.order(), result.owner.data());
        splitters.clear();
        if (comm.rank() == 0)
            splitters = to_splitters(search->searches());
    });
    const std::shared_ptr<KeyTable> table = finish(problem, error, result);
    table->add_points(problem.points, result.owner.data());
    table->complete(comm);
    result.domains = table;
}

} // namespace graft::decompose
