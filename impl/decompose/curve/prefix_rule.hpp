// SPDX-License-Identifier: BSD-3-Clause
// Which part a point gets that stands at a place of a weighted sequence: the rule of all prefix strategies.
//
// A point of weight w with weight s before it, W in all, gets the part that holds the middle of its interval:
// p = floor(P (2 s + w) / (2 W)), the last part for what lies behind. p never falls along the sequence, and
// a part's weight differs from W / P by at most half the weights of its first and of the next part's first
// point, so by less than one point's weight. All in integers. Points that all weigh nothing count one each.
//
// With a cap the plain part gives way: with q = min(p, P - ceil((N - g) / cap)) for the point with g points
// before it (what remains must fit into the parts that remain), the part is floor((S + g) / cap), where S is
// the largest q cap - g so far: every cap-th point begins a new part at the latest.
#pragma once

#include "decompose/weights.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace graft::decompose {

/// What all points share.
struct PrefixRule {
    Wide weight = 0; // > 0 when there are points
    int64_t count = 0;
    int64_t parts = 1;
    int64_t cap = 0; // 0: none; count <= cap * parts
};

/// Where a walk along the sequence stands. Adds up over ranks.
struct PrefixSum {
    Wide weight = 0;
    int64_t count = 0;
    friend PrefixSum operator+(const PrefixSum& a, const PrefixSum& b) {
        return {a.weight + b.weight, a.count + b.count};
    }
};

/// The largest q cap - g so far. Combines over ranks by maximum.
struct PrefixReach {
    int64_t value = std::numeric_limits<int64_t>::min();
    friend PrefixReach operator+(const PrefixReach& a, const PrefixReach& b) {
        return {std::max(a.value, b.value)};
    }
};

class PrefixWalk {
  public:
    PrefixWalk(const PrefixRule& rule, const PrefixSum& place, PrefixReach reach = {})
        : rule_(rule), place_(place), reach_(reach) {}

    /// The part of the next point.
    int32_t next(uint64_t weight) {
        const Wide twice = (2 * place_.weight + weight) * static_cast<Wide>(rule_.parts);
        if (twice >= next_part_at_) {
            plain_ = std::min(rule_.parts - 1, static_cast<int64_t>(twice / (2 * rule_.weight)));
            next_part_at_ = static_cast<Wide>(plain_ + 1) * 2 * rule_.weight;
        }
        int64_t part = plain_;
        if (rule_.cap > 0) {
            const int64_t left = rule_.count - place_.count;
            const int64_t most = rule_.parts - (left + rule_.cap - 1) / rule_.cap;
            reach_.value = std::max(reach_.value, std::min(plain_, most) * rule_.cap - place_.count);
            part = (reach_.value + place_.count) / rule_.cap;
        }
        place_.weight += weight;
        ++place_.count;
        return static_cast<int32_t>(part);
    }
    const PrefixSum& place() const { return place_; }
    PrefixReach reach() const { return reach_; }

  private:
    const PrefixRule& rule_;
    PrefixSum place_;
    PrefixReach reach_;
    int64_t plain_ = 0;
    Wide next_part_at_ = 0; // in units of twice the weight times parts
};

/// The runs of equal parts along the sequence, piece by piece; combines over ranks in their order.
struct PrefixRun {
    int32_t first_part = -1, last_part = -1; // -1: no points
    PrefixSum begin;                         // of the run of last_part
    friend PrefixRun operator+(const PrefixRun& a, const PrefixRun& b) {
        if (a.last_part < 0 || b.last_part < 0)
            return a.last_part < 0 ? b : a;
        const bool goes_on = b.first_part == b.last_part && a.last_part == b.first_part;
        return {a.first_part, b.last_part, goes_on ? a.begin : b.begin};
    }
};

} // namespace graft::decompose
